"""The words of the English grammar: who speaks, what can't be done, what is missing, and what undoes it."""

from __future__ import annotations

import re

from mdmem.hooks.inability.prose import CODE

THING = "\ufffb"  # stands for one of THINGS


def _either(*ways: str) -> re.Pattern[str]:
    return re.compile("|".join(ways))


def _listed(words: str) -> str:
    """An alternation of what stands between semicolons, the longest first."""
    return "|".join(sorted((word.strip() for word in words.split(";") if word.strip()), key=len, reverse=True))


# --- clauses --------------------------------------------------------------------------------------------------

_JOINERS = (
    "but|so|because|since|although|though|even though|while|whereas|however|therefore|thus|yet|until|unless|once|which"
    "|that|who|if|when|whenever|after|and|or|then|due to|as"
)
SPLIT = re.compile(rf"\s*(?:[,;()–—，；：（）]|:(?!\w))+\s*|\s+-{{1,2}}\s+|(?<!\bof)(?<!\bdo)\s+(?=(?:{_JOINERS})\b)")
HEAD = re.compile(
    rf"^(?:(?:{_JOINERS}|also|hence|even|still|sorry|unfortunately|sadly|regrettably|apologies|currently|right now"
    r"|at the moment|at present|for now|i am afraid|i am sorry|note|again|instead|well|status)\b[ ,]*)+"
)
RELATIVE = re.compile(r"^(?:that|which|who)\b")

# --- who, and where -------------------------------------------------------------------------------------------

_ADVERBS = r"(?: (?:also|still|currently|therefore|simply|just|personally|myself|yet|even|actually|now|then|[a-z]+ly))*"
SPEAKER = re.compile(rf"\b(?:i|we|me|myself|neither)(?: have| had)?{_ADVERBS}$")
WE = re.compile(rf"\bwe{_ADVERBS}$")
ME = re.compile(r"\b(?:i|me|my|mine)\b")
PERSON = re.compile(r"\byour?\b")
_HOUSES = "sandbox|environment|session|machine|box|host|container|terminal|shell|workspace|setup|system|computer|vm"
MINE = _either(
    r"\bmy(?: \w+){0,2} (?:tokens?|role|keys?|account|permissions?|tools?|toolset|tooling|credentials?|user|login"
    rf"|access|rights|privileges|identity|network|connection|scopes?|{_HOUSES})\b",
    r"\bmine\b",
    r"\b(?:(?:this|our)(?: \w+)?|the(?: current| agent| build)?) (?:sandbox|session|environment|workspace)\b",
    rf"\bthis(?: \w+)? (?:{_HOUSES}|runner|server|agent|account|token)\b",
)
PLACE = _either(
    r"\bfrom here\b|\bhere\b(?! is\b| are\b)|\b(?:for|to) me\b|\b(?:on|from) (?:my (?:side|end|own)|this (?:side"
    r"|end))\b"
    r"|\bfrom where i (?:run|am|sit|work|live)\b",
    rf"\b(?:from|in|on|of|inside|within|by|to|at|with) (?:this|my|the current|our)(?: [\w-]+){{0,2}}? (?:{_HOUSES})\b",
    r"\b(?:in|inside|within|from|by) (?:the|a) (?:sandbox|session|environment)\b|\bfrom a (?:terminal|shell)\b",
)
HERE = re.compile(r"(?<!from )\bhere\b")  # of code as often as of the assistant's place

# --- what can't be done ---------------------------------------------------------------------------------------

_BE = "(?:(?:am|is|are|was|were|been) )?"
CANNOT = _either(
    r"\b(?:can|could) (?:\w+ly |also |still |just )?not(?: yet| currently| even| really| actually)?(?: be able to)?\b",
    rf"\b{_BE}not(?: \w+ly| yet| currently)?(?: been)? able to\b",
    rf"^not(?= (?:push|write|deploy|merge|publish|edit|create|apply|upload|delete)\b)|\b{_BE}unable to\b|\b(?:has"
    rf"|have) never been able to\b|\bfailed to\b|\bincapable of\b",
    rf"\b{_BE}not(?: \w+ly)? (?:allowed|permitted|authori[sz]ed|in a position|equipped) to\b",
    r"\b(?:have|has|had|is|see|possess) (?:no|not any|not a)(?: \w+)?"
    r" (?:way|means|ability|possibility|option|chance|method)(?: for me)? (?:to|of)\b",
    r"\b(?:do|does|did) not (?:currently )?have (?:a|any|the)(?: \w+)?"
    r" (?:way|means|ability|possibility|option|tools?|capability|rights?|permissions?|access|privileges?"
    r"|credentials) to\b",
)
NO_WAY = _either(
    r"\bnothing (?:that )?i (?:can|could) (?:do|test|run|check|verify|deploy|push)\b|\boff[- ]limits (?:for|to) me\b",
    r"\bnot (?:something|a thing)(?: that)?(?: i| we)?\b|\bonly you can\b|\bcan not be \w+ by me\b|\b(?:no"
    r"|any) way for me\b"
    r"|\bon you\b$",
    r"\bnot (?:among|one of|part of|within) my\b|\b(?:beyond|outside(?: of)?) (?:what i|my)\b|\bas far as i (?:can"
    r"|could) (?:go|get)\b|\bout of my (?:hands"
    r"|reach)\b",
)
IMPOSSIBLE = re.compile(r"\bnot (?:possible|feasible|doable)\b|\bimpossible\b")
STUCK = _either(
    r"\b(?:i|we) (?:am|are|was|got|were|have been) (?:\w+ )?(?:blocked|stuck|denied|locked out|refused)\b",
    r"\b(?:i|we) (?:am|are|was|were) (?:\w+ )?not (?:(?:logged|signed) in|authenticated|authori[sz]ed|connected"
    r"|permitted"
    r"|allowed)\b",
    r"\bi am (?:only )?(?:an? )?(?:unprivileged|anonymous|guest|viewer|logged out|not root)\b",
    r"\bi (?:had to|have to|must) (?:stop|give up|skip|leave)\b|\bi got (?:stuck|blocked)\b",
    r"^(?:i am |currently |still )?blocked(?: (?:on|by) .*)?$|\b(?:hit|ran into|run into) a (?:wall|roadblock"
    r"|dead end)\b",
)
# What can't be done and is no inability: advice, thanks, judgement, a search that found nothing, a bug that is gone.
HARMLESS = re.compile(
    r"^(?: \w+ly)? ?(?:"
    + _listed(
        """read (?:minds?|your mind);
        recommend; suggest; advise; endorse; wait; thank; stress; emphasi[sz]e; overstate; overemphasi[sz]e; imagine;
        think; guess; say; tell; promise; guarantee; vouch; agree; resist; believe; be; happen; occur; remember;
        recall; decide; spot;
        notice; detect; reproduce; make (?:it|this|them) (?:fail|crash|break); break; crash; explain; justify; blame;
        complain; argue; condone; comply; help; assist; support; provide; discuss; in good; speak; comment; rule out;
        find; see (?:why|how|any|anyone|a|anything|what|where|much|no|that|it|the
        (?:difference|point|reason|benefit|value|need|use));
        fault; improve; hope; ask for; assume; predict; know; foresee; claim; conclude; come up;
        trigger the (?:bug|error|crash|failure); go wrong; lose; live; understand; judge; wish; take credit;
        take for granted; take responsibility; share (?:the contents?|my|any|internal|confidential); disclose; reveal;
        accept; account for; appreciate; bring myself; care; conceive; expect; fathom; get over; get enough; ignore;
        make sense; make any; make up; make heads; mention; overlook; pin; pinpoint; quantify; recreate; repro;
        replicate; reject; shake; skip; speculate; stand; sympathi[sz]e; top; undo; wrap; ethically; overestimate;
        underestimate; deny; defend; credit; answer that; do better; do justice; choose; praise; express; begin to;
        possibly; have; point to; name; pretend; let; afford; want; distinguish; prove"""
    )
    + r")\b"
)
SEEING = re.compile(
    r"^(?: \w+ly)? ?see your\b|^(?: \w+ly)? ?(?:see|find|locate) (?:the|your|its|a|any|an|what is on"
    r"|how it)?(?: \w+)? ?"
    r"(?:screen|display|dashboard|browser|page|images?|logs?|ui|gui|window|layout|monitor|desktop|inbox"
    r"|credentials?|tokens?|(?:api )?keys?|password|account|login|kubeconfig)\b"
)
# What reaches out of the code, and so is stopped by a want of access; of any other deed a reason must be told as well.
WORLDLY = re.compile(
    r"^(?: physically\b| make (?:\w+ ){0,2}?(?:payment|purchase|call|deposit|reservation|booking|order|transfer)s?\b"
    r"| get (?:in|into|access|through|to|past|behind)\b|(?: \w+ly)?(?: to)? ?(?:(?:re)?(?:"
    + _listed(
        """
        run; verify; open; push; check; deploy; build; log (?:in|on|into); sign; send; publish; reach; connect;
        roll (?:it )?out; install; confirm; download; pull; upload; fetch; read; access; relay; contact; enter;
        scrape; flip; mount; ssh; interact; print; compile; click; execute; post; book; start the; order; buy; pay;
        call; ring; email; message; invite; browse; view; apply; rotate; delete; merge; tag; release; test; query;
        play; close; listen; hear; watch; look (?:at|into); boot; record; load; flash; scan; clone; authenticate;
        launch;
        monitor;
        ping; submit;
        approve; provision; transfer; schedule; screenshot; render; preview; inspect; perform; create; write;
        attach; reserve; restart; stop; sync; trigger; unlock; validate; try
        """
    )
    + r")(?:ing)?\b|$))"
)
CODING = re.compile(r"^(?: \w+ly)? (?:use|rename|inline|extract|simplify|reuse|cast|replace|pass|return|infer|keep)\b")
TRADE = _either(
    r"\bwithout (?:\w+ly )?(?!access|network|internet|credentials|login|permission)\w+ing\b|\bany ?more\b"
    r"|\bno longer\b",
    r"\bwithout (?:your|an?|the|a clear|more|further) (?:approval|go-ahead|confirmation|ok|decision|input|answer"
    r"|information|details|context|clarification)\b|\bby design\b",
)
PRINCIPLE = re.compile(
    r"\b(?:malware|exploits?|phishing|weapons?|illegal|harmful|unethical|spam|copyright\w*|impersonat\w+|bypass\w*"
    r"|crack\w*|misleading|fraud\w*|system prompt|in good conscience)\b"
)

# --- what is missing ------------------------------------------------------------------------------------------

# What it takes to do a deed in the world; in a clause that is searched for a lack, THING stands for each.
THINGS = re.compile(
    r"\b(?:"
    + _listed(
        """access; permissions?; credentials?; tokens?; keys?; passwords?; passphrases?; secrets?; logins?; rights?;
        privileges?; roles?; network; internet; connection; connectivity; vpn; ssh; tools?; browser; display; accounts?;
        licen[cs]es?; sudo; root; certificates?; keystore; kubeconfig; webhook; smtp; authori[sz]ation; authentication;
        clearance; scopes?; toolchain; docker; kubectl; gpu; device; hardware; machine; camera; microphone; phone;
        emulator; simulator; connector; integration; plugin; cli; client; route; tunnel; profile; identity; server;
        terminal; screen; desktop; gui; wallet; card; funds; quota; seat; membership; admin; outbound; dns; proxy;
        adapter;
        subscription; variables?; line; second factor; factor; verification; passcodes?; apple id; otp; dongle;
        debugger; code; eyes; speaker; mount; share; api"""
    )
    + r")\b"
)
_SOME = "(?:the |any |an? |enough |sufficient |valid |necessary |required |got |of )*"
_MANY = rf"(?:[\w'/.{CODE}{THING}-]+ ){{0,5}}?"
_NONE = "(?!missing|failed|further|more|new|other|remaining|open|leaked)"
LACK = _either(
    r"\b(?:(?:do|does|did) not(?: currently| yet| actually| really)? (?:have|hold|possess)|(?:have|has) not(?: got)?)"
    rf" {_SOME}{_MANY}{THING}",
    rf"\b(?:am|is|are|was|were|been) not (?:given|sent|told|granted|assigned) {_SOME}{_MANY}{THING}",
    rf"\b(?:have|has|had|with|got|having) (?:currently )?(?:no|neither|insufficient|zero) {_MANY}{THING}",
    rf"\b(?:lack|lacks|lacked|lacking|am missing|are missing|still missing) {_SOME}{_MANY}{THING}",
    rf"\b(?:have|has) (?:only )?(?:read-only|view-only|limited) {THING}|\bonly (?:have|has|got) (?:read|view)\b"
    rf"|\b(?:has|have|is|am|with) (?:an? |the )?(?:viewer|reader|guest|read|read-only|view)(?: [\w{THING}]+)? only\b"
    rf"|\b(?:has|have) (?:\w+ )?{THING} (?:disabled|blocked|revoked|closed|switched off)\b",
    rf"\b(?:no|neither|not any|not an?) {_NONE}{_MANY}[{THING}{CODE}]"
    r"(?=$| (?!(?:check|control|policy|rule|test|handling|error|message)s?\b))",
    r"\bno (?:[\w-]+ ){1,3}(?:(?:is|are|was|were) )?(?:configured|available|installed|set|provided|mounted|attached"
    r"|connected)\b",
    rf"[{THING}{CODE}].* (?:is|are|was|were|has|have) (?:both |all |still |been )?(?:closed|suspended|locked|empty"
    rf"|missing|unset|expired|disabled"
    rf"|blocked|unavailable"
    rf"|absent"
    r"|unreachable|down|invalid|restricted|refused|rejected|denied|revoked|(?:(?:cut|switched|turned) )?off"
    r"|read[- ]only)\b",
    rf"\bwithout (?:your|the|an?|any) {_MANY}{THING}",
    r"^lacks? |\bcut off from\b|\bsits? behind\b|^(?:missing|lacking|insufficient) ",
    r"\b(?:is|are|was) (?:blocked|disabled|restricted|forbidden|filtered|prohibited) (?:from|in|on|by|for|here)\b",
    r"\b(?:is|are|was|have|has|given|got) none\b|\bnone (?:is|are|was|were|exists?|set|configured|available|here)\b",
)
# `No Xcode on this box`: not a thing that it always takes, but one that is not there.
NONE_HERE = re.compile(
    r"^(?:there (?:is|are|was|were) )?no (?!(?:\w+ )?(?:errors?|warnings?|failures?|failed|issues?|problems?"
    r"|changes?|differences?|regressions?|tests?"
    r"|conflicts?|bugs?|leaks?|traces?|signs?|effects?|impact|side|one|more|other|longer|need|harm|files? (?:in|on)"
    r"|references?|mentions?|matches|results?|cases?|duplicates?)\b)(?:[\w.-]+ ){1,3}?(?:(?:on|in|inside|at) |here$)"
)
BARE = re.compile(rf"^(?:no|insufficient|not enough) {_MANY}{THING}(?=$| (?:for|to|on|in|from|at|of)\b)")
USED = re.compile(
    r"\b(?:needed|required|necessary|concerns?|objections?|doubts?|preferences?|leaked"
    r"|longer|involved|exposed|found|remain|lost|at risk|left|change[sd]?"
    r"|touched|affected"
    r"|stored)\b"
)
NOT_SO = re.compile(
    r"\b(?:am|is|are|was|were|be|been|not|never|neither) (?:currently |yet )?(?:not |nor )?(?:currently |yet |even "
    r"|any )?"
    r"(?:authenticated|logged in|signed in|authori[sz]ed|connected|permitted|allowed|installed|available|configured"
    r"|reachable|routable|attached|set up|set|present|accessible|provisioned|writable|readable|approved|enabled|running"
    r"|shared with|mounted|exposed"
    r"|passed|visible|defined|enrolled|paired|plugged in|accepted"
    r"|hooked up|wired up|linked|known|here|on this|in (?:this|my|the env)|open to|supported here|valid)\b"
)
NEGATION = re.compile(r"\b(?:not|no|neither|nor|never|nothing)\b")
NOT_THERE = re.compile(r"your [\w ]+ (?:is|are) not (?:on|in|available|mounted|connected|reachable)\b")
# `The forks have no token`: what others lack stops others, not the assistant, unless it works with what lacks it.
OWNER = re.compile(
    r"^(.+?) (?:(?:do|does|did) not (?:\w+ )?have|(?:has|have|had) (?:\w+ )?(?:no|not|neither|none|insufficient)"
    r"|lacks?|lacked)\b"
)
HELD = re.compile(
    rf"\b(?:it|which|there|tokens?|keys?|accounts?|users?|roles?|credentials?|pat|identity|profile|login|server|runner"
    rf"|image|kubectl|gh|git|docker|aws|gcloud|az|helm|terraform|npm|cli|[{CODE}]|{_HOUSES})$"
)
# `which I don't have`: what is missing stands in the clause before.
WITHOUT_IT = _either(
    r"\b(?:do|does|did) not (?:currently |actually )?(?:have|hold|possess|know)"
    r"(?: (?:it|that|them|those|this|one|any|here|yet|either))*(?: (?:in|on|for|at|with) (?:this|the|my|that"
    r"|your) .*)?$",
    r"\b(?:my|our|this|i am \w+ (?:as|with|under)) [\w -]*\blacks? |\bi am \w+ as lacks? |\bnot (?:among|one of"
    r"|part of) .*\bi (?:was|have|got)\b|\blacks?(?: it| that| them)?$|\b(?:have|has|got) (?:none|neither)\b"
    r"|\b(?:neither|none) of (?:which|them|these|those) i (?:have|hold)\b"
    r"|\bhave no (?:access"
    r"|permissions?|rights?|login|way)\b",
    r"\b(?:can|could) not (?:get|obtain|provide|do|solve|enter|supply|receive|read|access)(?: it| one| that| them"
    r"| here)*$",
    r"\b(?:am|is) not (?:its |the |an? )?(?:owner|admin|maintainer|superuser)\b|\bam not (?:one|a member"
    r"|an? (?:admin|owner|maintainer)|on (?:it|that|the (?:list|vpn|network|team))|among them|part of (?:it|that))\b",
)
BARRED = _either(
    r"\bmy (?:push|upload|login|requests?)(?: \w+){0,4} (?:bounced|refused|rejected|denied|blocked|challenge)\b"
    r"|\bredirects? me\b",
    r"\b(?:nobody|no one|you never|nothing) (?:gave|sent|shared|told|granted|handed) me\b|\bi was never (?:told"
    r"|given|sent"
    r"|shown|granted)\b|\bmy(?: \w+){0,2} (?:user|account|role|token|key|login) (?:is|was) not (?:in\b|one\b|on\b"
    r"|a member"
    r"|an? (?:admin|owner)|part of)|\b(?:my(?: \w+){0,2}|this) (?:sandbox|session|container|machine|box|host"
    r"|server) (?:has|have"
    r"|got) (?:no|zero) (?!errors?|issues?|problems?|changes?|effect|failures?|warnings?|more|further|side)",
    r"\b(?:hidden|invisible|locked|private|closed|(?:turned|switched) off) (?:from|to|for) me\b|\bout of reach (?:of"
    r"|for|from)\b",
    r"\bmy (?:token|account|role|key|login) (?:is|works) (?:only |just )?for\b|\bmy (?:\w+ )?(?:token|account|role"
    r"|key|login|user) only\b",
    r"\b(?:my|this) (?:token|account|role|key|user) may not\b|\bmy \w+ (?:do|does) not (?:allow|permit|support|let"
    r"|include|offer)\b",
    r"\b(?:sandbox|environment|policy|session|permissions) (?:prevents?|blocks?|forbids?|denies|disallows?)\b",
    r"\b(?:prevents?|prevented|blocks?|blocked|stops?|stopped|keeps?|kept|forbids?|forbade|denies|denied|bars?|barred)"
    r" (?:me|us|my|all outbound|any outbound|outbound|network)\b",
    r"\b(?:do|does|did|will|would) not (?:let|allow|permit|accept|give|grant) (?:me|us|my|it from|outbound)\b",
    r"\b(?:refus\w+|reject\w+|declin\w+|bounced|den(?:y|ies|ied))"
    r" (?:me|my|the push|the login|the key|the upload|access|us)\b",
    r"\brefus\w+ connections? from (?:this|my)\b",
    r"\b(?:restrictions?|limits?|limitations?) of (?:the|this|my) (?:sandbox|environment|session|permissions)\b",
)
DENIED = _either(
    r"\bpermission ?denied\b|\baccess ?(?:was |is )?denied\b|\b(?:401|403)\b|\bforbidden\b|\bunauthori[sz]ed\b",
    r"\bnot permitted\b|\btimed? ?out\b|\bconnection (?:was |is )?(?:refused|reset|blocked)\b|\brefused\b"
    r"|\bunreachable\b",
    r"\bauthori[sz]ation ?failed\b|\bauthentication (?:failed|failure|error)\b|\bblocked\b|\bquota\b|\brate limit\w*\b",
    r"\b(?:command|executable) not found\b|\bnot(?: even)? resolve\b|\bresolution fails\b|\b(?:wants|asks) me to\b",
    r"\bkeeps? (?:blocking|rejecting|refusing|denying)\b|\b(?:restricted|limited) to\b|\bonly \w+(?: \w+)? can\b",
    r"\bonly (?:reachable|accessible|available|possible) (?:via|from|over|through|with|inside)\b",
    r"\b(?:is|are|was|were) (?:denied|disallowed|prohibited)\b",
    r"\b(?:did|does|do|is|are|was|were) not (?:respond|answer|connect|responding|answering)\b|\bno (?:response"
    r"|answer)\b",
    r"\b(?:absent|unavailable|missing) (?:here|on|in|from)\b|\b(?:can|could) not be (?:reached|accessed|contacted)\b",
    r"\b(?:is|are|was|were|went) (?:offline|down)\b|\bheadless\b|\bcaptchas?\b|\bpaywall\b|\b(?:am|is) on (?:linux"
    r"|macos|a mac"
    r"|windows|arm)\b|\b(?:sandbox|environment|network"
    r"|permission|firewall|security)s? (?:restriction|limit|limitation|constraint)s?\b|\b(?:session|tokens?"
    r"|credentials?|login)(?: \w+)? (?:(?:has|have|had) )?(?:expired|ran out|run out)\b",
    r"\b(?:login|password|two-factor|2fa|captcha|mfa) (?:is )?(?:required|wall|prompt)\b",
)
AT_ME = re.compile(r"\b(?:at|gives?|gave|shows?|showed) me\b|\bi (?:just |only )?(?:keep|kept) (?:getting|seeing)\b")
REQUIRES = re.compile(
    rf"\b(?:requires?|needs?|needing|only accepts?|behind|via|asks? for|wants?|demands?"
    rf"|depends on) {_MANY}(?:[{THING}{CODE}]|xcode)"
)

# --- what was left undone, and who is to do it ------------------------------------------------------------------

NOTHING_WRONG = re.compile(
    r"\b(?:nothing|none|no \w+) (?:is|are|was|were|has been) (?:now )?(?:blocked|missing"
    r"|denied|lost|affected)\b"
)
UNDONE = _either(
    r"\b(?:has|have|had|was|were|is|are|did) (?:therefore |still |thus |so )?(?:not|never)(?: yet"
    r"| therefore)?(?: been)?"
    r" (?!connected|logged|signed|authenticated|authori[sz]ed|allowed|permitted|supported|configured|needed|required"
    r"|listed|related"
    r"|affected|expected|used)"
    r"(?:[a-z]+ed|sent|run|seen|done|built|set|put|happen|get|go|gone|written|take|taken|work|manage|succeed|finish"
    r"|reach"
    r"|in the|on the|there|on \w+ yet)\b",
    r"\b(?:did|do|have|has) not (?:yet )?(?:click|open|restart|begin|import|do\b(?! not)|push|deploy|publish|run"
    r"|apply|send|verif|check|test|merge|upload|execut"
    r"|creat"
    r"|start|install|complet)\w*\b",
    r"\b(?:clone|push(?:ing)?|upload(?:ing)?|fetch|pull|deploy\w*|writ(?:e|ing)|merg(?:e|ing)"
    r"|login)\b.{0,30}? (?:was|were|got) (?:refused"
    r"|rejected|denied|blocked)\b",
    r"\b(?:could|can) not be\b(?! (?:told|distinguished|compared|reproduced|guessed|avoided|helped|ruled"
    r"|undone|reverted|parsed|represented|expressed|cached|known|sure)\b)"
    r"|(?<!no )(?<!nothing )(?<!used to )(?<!\d )(?<!\btests )(?<!\btest )(?<!\bchecks )(?<!\bspecs )\bfail(?:s|ed"
    r"|ing)?\b|\b(?:therefore|thus|so) not\b|\bnot done\b"
    r"|\bunchanged\b|\buntested\b"
    r"|(?<!\d )\bskipped\b|\bwithout success\b|\bmissing from (?:my|this|the) (?:answer|report|change|summary)\b"
    r"|\bstuck (?:at|on|in|behind)\b",
    r"\b(?:is|are|remains?) (?:still |therefore |only )?(?:open|pending|unverified|local|incomplete"
    r"|placeholders?"
    r"|undone|unread|unpublished|a draft|only local|only a draft|skipped|outstanding|waiting)\b",
    r"\bstill (?:has|have|needs?|missing|belong|a draft|to be|sitting|waiting|only)\b|\bnothing (?:was|has|is|could"
    r"|(?!fail|chang|need)\w+ed|sent|done)\b",
    r"\bi (?:can|could) only (?:test|check|verify|run|try|read)\b|\bi (?:had to )?(?:stop|stopped|gave up)\b"
    r"|\bnot (?:yet )?(?:applied|deployed|pushed|published|sent|run|tested"
    r"|verified|filed|performed|made|issued|signed|submitted|opened|started|booked|paid|imported|loaded|restored"
    r"|restarted|executed|flashed)\b|\bun(?:sent|signed|published|touched|paid)\b|\bover to you\b",
)
HANDOVER = _either(
    r"\b(?:needs?|have|has|must|require[sd]?|should|will|please|want)\b.*\b(?:by hand|by you|by someone|by an admin"
    r"|by somebody|on your (?:side|end|machine)|yourself|yourselves|manually)\b",
    r"\b(?:someone|somebody|a person|an admin\w*) (?:with|who has)\b.*\b(?:has to|needs? to|must|should"
    r"|will have to|can)\b",
    r"\b(?:someone|somebody) with (?:access|rights|permissions?|admin|sudo|the)\b",
    r"\b(?:is|are|remains?) yours to (?:run|start|do|apply|deploy|push|publish|send|make live|trigger|finish)\b",
    r"\b(?:leaves?|left|remains?|is|are) .*\bfor you to (?:run|start|do|apply|deploy|push|publish|send|trigger|finish"
    r"|upload|sign)\b",
)
ADDRESSED = re.compile(r"\b(?:your?|yourself|please|someone|somebody|by hand|admin)\b")
NOT_HANDED = re.compile(
    r"\b(?:each|every|after|whenever|not|no need|never|without|nothing|instead of|used to|if you"
    r"|rather than)\b"
)

# --- what undoes it ---------------------------------------------------------------------------------------------

DONE = re.compile(
    r"\b(?:is live|pushed|deployed|published|connected|restarted|uploaded|pass(?:es|ed)?|(?:is|are) in the|is now"
    r"|installed|rolled out|completed|sent|merged|created|logged in|verified|restored|applied|ran|finished|confirmed"
    r"|running|built|queried|charged)\b"
)
_TRIED = r"(?:switched|used|installed|retried|replaced|changed|moved|went|took|found)"
_BY_OTHER_MEANS = r"\bso i (?!(?:only|just)\b)[a-z]+ (?!.*\b(?:only|alone|just)\b).*\b(?:through|via|using|over) "
YOU = re.compile(r"\byou\b")
WORKED = _either(
    _BY_OTHER_MEANS,
    r"\b(?:work(?:s|ed)(?! only| just)|succeed(?:s|ed)|went through|goes through|is up|is done|fixed|resolved|got in"
    r"|got through|could verify|solved|did the trick|(?:is|are) back|corrected|unlocked|got it|gave it|granted"
    r"|match)\b",
    rf"^{_TRIED} |\b\w+ed\b.* instead\b|\binstead\b.* \w+ed\b",
    rf"\bi (?:then |simply |just )?(?:{_TRIED}|requested|borrowed|worked around|fell back|asked for|tried again"
    rf"|did it|ran"
    r"|rebuilt|added|reran|generated)\b",
    r"\b(?:it|that|the \w+) (?:now )?(?:works|is (?:now )?(?:deployed|live|published|done|fixed|pushed|in place"
    r"|green|up))\b",
    r"\bi (?:could|was able to|managed to)\b(?! not| only)",
)
# What went well beside what failed.
ASIDE = re.compile(
    r"\b(?:unit|others?|rest|everything else|all else|else|locally|local|code|lint\w*|type check\w*|syntax|dry run"
    r"|existing|mock\w*|draft\w*)\b"
)
EARLY = re.compile(
    r"\b(?:at first|initially|originally|previously|earlier|in the beginning|at the start|the first \w+|before"
    r"|until (?:i|now|then)|used to|had been|the old|yesterday|last (?:night|week)|for a while)\b"
)
THEN = _either(
    r"\b(?:then|afterwards?|after|once|until|turned out|in the end|eventually|finally|retr(?:y|ied)|tried again"
    r"|worked around|instead|the one in|with the (?:new|right)|later)\b",
    rf"\bso i (?:have )?(?:{_TRIED}|ran|fell|added|queried|worked)\b(?!.* only\b)|^{_TRIED} |{_BY_OTHER_MEANS}",
)
BUT = re.compile(r"\b(?:but|however|now|luckily|fortunately|yet|still|so)\b")
CONDITION = re.compile(
    r"^(?:and |or |but |so |even )?(?:if|in case|should|whenever|suppose|assuming|provided|as long as|wherever"
    r"|when(?! i (?:[a-z]+ed|ran|saw|did|got|tried)\b)|otherwise|unless|in the event)\b"
)
WISH = re.compile(r"\bif (?:you|that) (?:want|like|need|prefer|wish|would|could|can|give|have time|is ok)\b|\bunless\b")
CONCESSION = re.compile(r"^(?:although|though|even though|while|despite|even without|even if)\b")
ASKED = re.compile(r"^(?:can|could|do|does|did|is|are|why|how|what|which|who|should|shall|would|will|want|or)\b")
REPORT = re.compile(
    r"\b(?:fix(?:ed|es)?|says?|said|prints?|printed|wrote|reads?|reports?|reported|shows?|showed|message|error"
    r"|logs?|raises?|returns?"
    r"|lists?|describes?|documents?|explains?|covers)\b"
)
SCOPE = _either(
    r"\byou (?:only |just )?(?:asked|said|told|did not ask|wanted)\b(?! for\b)|\bout(?:side)?(?: of)?(?: the)? scope\b",
    r"\bby design\b|\bon purpose\b|\b(?:intentional|deliberate)ly\b|\bas (?:designed|intended|expected)\b",
    r"\bnot part of\b|\bwas not asked\b|\bas (?:requested|agreed)\b|\byour (?:approval|go-ahead|confirmation|ok)\b",
)
# What was wrong, or is in a list of what was tried out: told of the work, not of what stopped it.
TOLD = _either(
    r"\byou (?:saw|see|are seeing|were seeing|ran into|run into|hit|reported|described|mentioned)\b"
    r"|\broot cause\b|\b(?:was|were|is) caused by\b|\b(?:used to|no longer) fail",
    r"→|(?<!not )(?<!nor )\b(?:cases?|scenarios?|covers?|covered|covering|handles?|handled|checked|such as"
    r"|tests? (?:for|that))\b"
    r"|^(?:finding|why\b|fix(?:ed|es)? (?:#|a|an|the)\b|fix(?:ed|es)?:)",
    r"\bnow (?:\w+ly )?(?:rejected|refused|denied|returns?|rejects?|refuses?|denies|gets?|shows?|prints?|falls?|fails?"
    r"|raises?|answers?|says?|tells?)\b",
)
# The person does not want it done, or is to decide first: to ask the assistant to try all the same would be wrong,
# whatever it could do.
FORBIDDEN = _either(
    r"\b(?:you|the user|the person) (?:had |have |has |also |already |just |\w+ly )*(?:asked|told|instructed|said"
    r"|wanted|requested|warned|ordered|decided|preferred|agreed)\b(?! for\b)"
    r"(?!(?: \w+){0,4} (?:has|have|is|are|was|were|could|can|did) (?:not|never))(?: \w+){0,5}?"
    r" (?:not|never|no one|nobody|against|hold)\b",
    r"\byou (?:do|did|would) not want\b|\byou (?:forbade|prohibited|ruled out|vetoed|declined|rejected)\b",
    r"\b(?:per|by|under|against|given|following|because of|due to|violates?|breaks?) your (?:\w+ )?(?:rules?"
    r"|polic(?:y|ies)|guidelines?|preferences?|feedback|conventions?|freeze|standing)\b",
    r"\byour (?:\w+ )?(?:rules?|polic(?:y|ies)|guidelines?|preferences?|feedback|conventions?) (?:says?|is|forbids?|are"
    r"|prohibits?|tells?|does not|do not)\b|\bi was (?:told|asked|instructed) (?:by you )?not\b",
    r"\b(?:until|before) you (?:tell|choose|decide|confirm|approve|say|answer|pick|reply|review|let me know|have"
    r" (?:decided|chosen|reviewed|confirmed|approved|picked))\b",
)
