"""An English sentence in, the signs of each of its clauses out.

A clause is read by asking who its subject is, whether it holds a word of inability or of lack, and which deed follows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mdmem.hooks.inability.prose import CODE, QUOTE
from mdmem.hooks.inability.signs import Sign


def _any(words: str) -> str:
    """An alternation of words; those of several parts stand between semicolons or lines."""
    parts = [part.strip() for part in re.split(r"[;\n]", words)] if ";" in words else words.split()
    return "|".join(sorted(filter(None, parts), key=len, reverse=True))


# --- one spelling for what has several ----------------------------------------------------------------------

_NO_APOSTROPHE = re.compile(
    r"\b(ca|could|do|does|did|was|were|is|are|has|have|had|wo|would|should)nt\b|\b(i)(m|ve|ll)\b"
)
_NEGATED = re.compile(r"\b(ca|wo|sha|ai|[a-z]+?)n't\b")
_WHOLE = {"ca": "can", "wo": "will", "sha": "shall", "ai": "is"}
_SHORT = re.compile(r"(?<=\w)'(m|ve|re|ll|d)\b|(?<=\bthere)'s\b|(?<=\bhere)'s\b|(?<=\bit)'s\b|(?<=\bthat)'s\b")
_LONG = {"m": " am", "ve": " have", "re": " are", "ll": " will", "d": " would"}
_TYPOS = re.compile(r"\bacces\b|\bpermisions?\b|\bcredentals?\b|\bauthenticat?ed\b|\bunabel\b|\bcouldt\b")
_TYPED = {"acces": "access", "unabel": "unable", "couldt": "could not"}


def _plain(text: str) -> str:
    """Lower case, `can not` for can't, cant and cannot, `i have` for I've."""
    text = text.lower().replace("’", "'").replace("‘", "'").replace("cannot", "can not")
    text = _NO_APOSTROPHE.sub(lambda m: f"{m[1]}n't" if m[1] else f"i'{m[3]}", text)
    text = _NEGATED.sub(lambda m: f"{_WHOLE.get(m[1], m[1])} not", text)
    text = _SHORT.sub(lambda m: _LONG[m[1]] if m[1] else " is", text)
    return _TYPOS.sub(_right, text)


def _right(typo: re.Match[str]) -> str:
    word = typo[0]
    return _TYPED.get(word) or ("permissions" if word[0] == "p" else "credentials" if word[0] == "c" else "authenticated")


# --- clauses --------------------------------------------------------------------------------------------------

_SPLIT = re.compile(
    r"\s*[,;:()\u2013\u2014，；：（）]+\s*|\s+-{1,2}\s+|(?<!\bof)\s+(?=(?:but|so|because|since|although|though|even though|while|whereas"
    r"|however|therefore|thus|yet|until|unless|once|which|that|who|if|when|whenever|after|and|or|then|due to|as)\b)"
)
_HEAD = re.compile(
    r"^(?:(?:and|but|so|or|then|also|however|therefore|hence|thus|yet|because|since|as|that|which|though|although|even|still"
    r"|sorry|unfortunately|sadly|regrettably|apologies|currently|right now|at the moment|at present|for now|i am afraid"
    r"|i am sorry|note|due to|again|instead|well|while|until|once|after|when|status)\b[ ,]*)+"
)

# --- who ------------------------------------------------------------------------------------------------------

_ADVERB = "(?:also|still|currently|therefore|unfortunately|really|simply|just|personally|myself|just|yet|even|actually|now|then|[a-z]+ly)"
_SPEAKER = re.compile(rf"(?:^|\b)(?:i|we|me|myself|neither)(?: {_ADVERB})*$")
_WE = re.compile(rf"\bwe(?: {_ADVERB})*$")
_OURS = (
    "token|tokens|role|key|keys|account|sandbox|session|permissions?|tools?|toolset|credentials?|environment|user|login|access"
    "|container|rights|shell|machine|privileges|setup|identity|service account|network|connection|tooling|scopes?"
)
_MINE = re.compile(
    rf"\b(?:my(?: \w+){{0,2}} (?:{_OURS})|mine|(?:this|the current|our|the)(?: \w+)? (?:sandbox|session|environment|workspace)"
    r"|this(?: \w+)? (?:machine|box|host|container|shell|terminal|system|computer|vm|runner|server|agent|account|token))\b"
)
_ME = re.compile(r"\b(?:i|me|my|mine)\b")
_PLACE = re.compile(
    r"\bfrom here\b|\bhere\b(?! is\b| are\b)|\b(?:from|in|on|of|inside|within|by|to|at|with) (?:this|my|the current|our)(?: [\w-]+){0,2}? "
    r"(?:sandbox|environment|session|machine|box|host|container|terminal|shell|workspace|setup|system|computer|vm|side|end)\b"
    r"|\b(?:in|inside|within|from|by) (?:the|a) (?:sandbox|session|environment)\b|\bfor me\b|\bto me\b|\bon my (?:side|end|own)\b"
)
_PERSON = re.compile(r"\byou(?:r\b|\b)")

# --- what can't be done ---------------------------------------------------------------------------------------

_CANNOT = re.compile(
    r"\b(?:(?:can|could) (?:\w+ly |also |still |just )?not(?: yet| currently| even| really| actually)?(?: be able to)?"
    r"|(?:am|was|is|are|were|been)? ?(?:not|n't)(?: \w+ly| yet| currently)?(?: been)? able to|(?:am|was|is|are|were|been)? ?unable to"
    r"|(?:has|have) (?:not|never) been able to|(?:(?:am|was|is|are|were) )?not(?: \w+ly)? (?:allowed|permitted|authori[sz]ed|in a position|equipped) to"
    r"|failed to|incapable of|(?:have|has|is|see) (?:no|not any|not a)(?: \w+)? (?:way|means|ability|possibility|option|chance|method)(?: for me)? (?:to|of)"
    r"|(?:do|does|did) not (?:currently )?have (?:a|any|the)(?: \w+)? (?:way|means|ability|possibility|option|tools?|capability|rights?|permissions?|access|privileges?|credentials) to)\b"
)
_NO_WAY = re.compile(
    r"\bnot (?:something|a thing)(?: that)?(?: i| we)?\b|\bsomething only you\b|\bonly you can\b|\bbeyond (?:what i|my)\b|\bas far as i (?:can|could) (?:go|get)\b|\bout of my hands\b|\bon you\b$|\boutside (?:of )?(?:what i|my)\b"
    r"|\bno way for me\b|\bimpossible (?:for me|from|here|in this)|\bimpossible$|\bout of (?:my )?reach\b"
)
_NOT_POSSIBLE = re.compile(r"\bnot (?:possible|feasible|doable)\b|\bimpossible\b")
# Deeds that need access, tools, rights or a network: what an assistant is asked to do to the world.
_DEEDS = _any(
    """
    access add apply approve attach authenticate authorize authorise boot browse build buy call cancel change check checkout
    click clone close commit compile complete configure confirm connect contact continue copy create curl debug delete deliver
    delete deploy detect-device dial do download edit email enable enter establish execute export fetch file finalise finalize
    finish fix flash forward get grant hook import inspect install interact invite invoke issue join kill launch listen load
    log login look lookup mail make measure merge message migrate modify monitor mount move notify obtain open operate order
    pay perform ping play plug post press print proceed provision publish pull purchase push query reach read reboot rebuild
    receive record redeploy refresh regenerate register reload remove renew rerun reset resolve restart restore retrieve
    retry revoke roll rollout rotate run save scan schedule scp screenshot search see-screen send set setup share sign ssh
    start stop submit switch sync tag take talk test touch transfer trigger try turn type unlock update upgrade upload use
    validate verify view visit watch write access set-up that this it anything more
    """
)
# Deeds on code: what stands in their way is more often the code itself.
_CODING = re.compile(
    r"^(?: \w+ly)? (?:"
    + _any("rename inline split refactor simplify reuse cast convert extract keep drop use replace pass return represent express reduce type")
    + r"|make (?:it|this|these|them|that|the|a|an)\b(?! \w*(?:payment|purchase|call|change|deposit|request|reservation|booking|connection|backup|commit|order|transfer))"
    + r")\b"
)
_PRINCIPLE = re.compile(
    r"\b(?:malware|exploits?|phishing|weapons?|illegal|harmful|unethical|spam|copyright\w*|impersonat\w+|bypass\w*|crack\w*|misleading|fraud\w*|system prompt|in good conscience)\b"
)
_DEED = re.compile(rf"(?:{_DEEDS})\b(?! (?:no|any remaining|any other|any further) )")
_DEED_ING = re.compile(rf"\b(?:{_DEEDS})(?:p|t|g|n|m)?(?:ing)\b")
_SKIP = re.compile(
    r"^(?: (?:yet|also|therefore|even|currently|directly|actually|just|[a-z]+ly|to|please|properly|get to|go (?:any further|on)|go))*"
)
# What is said to be impossible and is no inability: advice, thanks, judgement, a search that found nothing, a bug that is gone.
_HARMLESS = re.compile(
    r"^(?: \w+ly)? ?(?:"
    + _any(
        """recommend; suggest; advise; endorse; wait; thank; stress; emphasi[sz]e; overstate; overemphasi[sz]e; imagine; think; guess;
        say; tell; promise; guarantee; vouch; agree; resist; believe; be; remember; recall; decide; spot; notice; detect;
        reproduce; make (?:it|this|them) (?:fail|crash|break); break; crash; explain; justify; blame; complain; argue; condone; comply;
        help; assist; support; provide; discuss; in good; speak; comment; rule out; find; see (?:why|how|any|anyone|a|anything|what|where|much|no|that|it|the (?:difference|point|reason|benefit|value|need|use)); help but; fault; improve; hope; ask for;
        assume; predict; know; foresee; claim; conclude; come up; trigger the (?:bug|error|crash|failure); go wrong; lose; live;
        understand; judge; wish; take credit; take for granted; take responsibility; share (?:the contents?|my|any|internal|confidential); disclose;
        reveal; accept; account for; appreciate; bring myself; care; conceive; emphasise; expect; fathom; get over; get enough; ignore; make sense;
        make any; make up; make heads; mention; overlook; pin; pinpoint; quantify; recreate; repro; replicate; reject; shake; skip; speculate; stand;
        sympathi[sz]e; top; undo; wrap; ethically; overestimate; underestimate; deny; defend; credit; answer that; do better; do justice; choose; praise; express; begin to; possibly; have; point to; name; pretend; let; afford; want; distinguish; prove"""
    )
    + r")\b"
)
_SEEING = re.compile(
    r"^(?: \w+ly)? ?(?:see|find) (?:the|your|its|a|any|an|what is on|how it)?(?: \w+)? ?"
    r"(?:screen|display|dashboard|browser|page|images?|logs?|ui|gui|window|layout|monitor|desktop|inbox|"
    r"credentials?|tokens?|(?:api )?keys?|password|account|login|kubeconfig)\b"
)
_TRADE = re.compile(r"\bwithout (?:your|an?|the|a clear|more|further) (?:approval|go-ahead|confirmation|ok|decision|input|answer|information|details|context|clarification)\b|\bwithout (?:\w+ly )?(?!access|network|internet|credentials|login|permission)\w+ing\b|\bany ?more\b|\bno longer\b|\bby design\b")

# --- what is missing ------------------------------------------------------------------------------------------

_THINGS = _any(
    """
    access; permissions?; credentials?; tokens?; keys?; api keys?; passwords?; passphrases?; secrets?; logins?; rights?; privileges?;
    roles?; network; internet; connection; connectivity; vpn; ssh; tools?; browser; display; accounts?; licen[cs]es?; sudo;
    root; certificates?; keystore; kubeconfig; webhook; smtp; authori[sz]ation; authentication; clearance; scopes?; toolchain;
    docker; kubectl; gpu; device; hardware; machine; camera; microphone; phone; emulator; simulator; credentials file; connector;
    integration; plugin; cli; client; route; tunnel; profile; identity; server; terminal; desktop; gui; wallet; card; funds;
    quota; seat; membership; approval rights; admin; write access; outbound; dns; proxy; adapter; subscription; variables?; line; second factor; factor; verification; code; eyes; speaker; mount; share; api
    """
)
_THING = re.compile(rf"\b(?:{_THINGS})\b")
_MANY = r"(?:[\w'/.\-" + CODE + r"]+ ){0,5}?"
_HAVE_NOT = re.compile(
    rf"\b(?:do|does|did|have|has) not(?: currently| yet| actually| really)?(?: have| got| hold| possess)? (?:the |any |a |an |enough |sufficient |valid |necessary |required |got )*{_MANY}(?:{_THINGS})\b"
    rf"|\b(?:have|has|had|with|got|having) (?:currently )?(?:no|neither|insufficient|zero) {_MANY}(?:{_THINGS})\b"
    rf"|\bonly (?:have|has|got|read) (?:read|view)(?:-only)?\b|\b(?:have|has) (?:only )?(?:read-only|view-only|limited) access\b|\b(?:lack|lacks|lacked|lacking|am missing|are missing|still missing) (?:the |any |a |an |valid |write |of )*{_MANY}(?:{_THINGS})\b"
)
# `which I don't have`: what is missing stands in the clause before.
_WITHOUT_IT = re.compile(
    r"\b(?:do|did) not (?:currently |actually )?(?:have|hold|possess|know)(?: (?:it|that|them|those|this|one|here|yet|either))*(?: (?:in|on|for|at|with) (?:this|the|my|that|your) .*)?$|\blacks?(?: it| that| them)?$"
    r"|\b(?:can|could) not (?:get|obtain|provide|do|solve|enter|supply|receive|read|access)(?: it| one| that| them| here)*$"
    r"|\bhave no (?:access|permissions?|rights?|login|credentials|key|way)\b|\b(?:have|got) none\b|\bam not (?:one|a member|an? (?:admin|owner|maintainer)|on the list|among them)\b"
)
_NONE_HERE = re.compile(
    rf"\b(?:there (?:is|are|was|were) )?(?:no|neither|not any|not a|not an) (?!missing|failed|further|more|new|other|remaining|open|leaked){_MANY}(?:{_THINGS}|{CODE})\b|\bno (?:[\w-]+ ){{1,3}}(?:(?:is|are|was|were) )?(?:configured|available|installed|set|provided|mounted|attached|connected)\b"
)
_BARE = re.compile(rf"^(?:no|missing|insufficient|lacking|not enough) (?!missing|failed|further|more|new|other|remaining|open|leaked){_MANY}(?:{_THINGS})\b|^(?:missing|lacking|insufficient) ")
_USED = re.compile(r"\b(?:needed|required|necessary|leaked|longer|involved|exposed|found|remain|lost|at risk|left|changes?|affected|stored)\b")
_STATES = (
    r"(?:authenticated|logged in|signed in|authori[sz]ed|connected|permitted|allowed|installed|available|configured|reachable|attached|set up|set"
    r"|present|accessible|provisioned|mounted|defined|enrolled|paired|plugged in|accepted|known|here|on this|in (?:this|my|the env)|open to|supported here|valid)"
)
_NOT_STATE = re.compile(
    rf"\b(?:am|is|are|was|were|be|been|not|neither) (?:currently |yet )?(?:not |nor )?(?:currently |yet |even |any )?{_STATES}\b"
)
_NEGATION = re.compile(r"\b(?:not|no|neither|nor|never|nothing)\b")
_SPENT = re.compile(
    rf"\b(?:{_THINGS}|{CODE})\b.* (?:is|are|was|were|has|have) (?:empty|missing|unset|expired|disabled|blocked|unavailable|absent|unreachable|down|invalid|restricted|refused|rejected|denied|off|cut off|read-only)\b"
    r"|\bcut off from\b|\b(?:is|are|was) (?:blocked|disabled|restricted|forbidden|filtered|firewalled|prohibited) (?:from|in|on|by|for|here)\b|\bsits? behind\b"
)
_BARRED = re.compile(
    r"\b(?:prevents?|prevented|blocks?|blocked|stops?|stopped|keeps?|kept|forbids?|forbade|denies|denied|bars?|barred) (?:me|us|my|all outbound|any outbound|outbound|network)\b"
    r"|\b(?:do|does|did|will|would) not (?:let|allow|permit|accept|give|grant) (?:me|us|my|it from|outbound)\b"
    r"|\b(?:refus\w+|reject\w+|declin\w+|bounced|den(?:y|ies|ied)) (?:me|my|the push|the login|the key|the upload|access|us)\b"
    r"|\b(?:restrictions?|limits?|limitations?) of (?:the|this|my) (?:sandbox|environment|session|permissions)\b"
)
_DENIED = re.compile(
    r"\bpermission denied\b|\baccess (?:was |is )?denied\b|\b(?:401|403)\b|\bforbidden\b|\bunauthori[sz]ed\b|\bnot permitted\b|\btimed? ?out\b"
    r"|\bconnection (?:was |is )?(?:refused|reset|blocked)\b|\bauthorization ?failed\b|\bauthentication (?:failed|failure|error)\b|\brefused\b|\bunreachable\b"
    r"|\b(?:command|executable) not found\b|\bnot resolve\b|\bresolution fails\b|\bkeeps? (?:blocking|rejecting|refusing|denying)\b|\b(?:restricted|limited) to\b|\bonly \w+(?: \w+)? can\b|\bonly (?:reachable|accessible|available|possible) (?:via|from|over|through|with|inside)\b|\bquota\b|\brate limit\w*\b|\bwants me to\b|\b(?:is|are|was|were) (?:denied|disallowed|prohibited)\b|\b(?:login|password|two-factor|2fa|captcha|mfa) (?:is )?(?:required|wall|prompt)\b|\bblocked\b"
)
_REQUIRES = re.compile(rf"\b(?:requires?|needs?|only accepts?|behind|via|asks? for|wants?|demands?|depends on) {_MANY}(?:{_THINGS}|xcode|{CODE})\b")
_BLOCKED = re.compile(
    r"\b(?:i|we) (?:am|are|was|got|were|have been) (?:\w+ )?(?:blocked|stuck|denied|locked out|refused|not (?:logged|signed) in|not authenticated|not authori[sz]ed|not connected|not permitted|not allowed)\b"
    r"|\bi (?:had|have) to (?:stop|give up|skip|leave)\b|\bi got (?:stuck|blocked)\b|^(?:i am |currently |still )?blocked(?: (?:on|by) .*)?$|\b(?:hit|ran into|run into) a (?:wall|roadblock|dead end|block)\b"
)

# --- what was left undone, and who is to do it ------------------------------------------------------------------

_UNDONE = re.compile(
    r"\b(?:has|have|had|was|were|is|are|did) (?:therefore |still |thus |so )?(?:not|never)(?: yet| therefore)?(?: been)? (?:manage|succeed|finish|reach|in the|on the|there|on \w+ yet|[a-z]+ed|sent|run|done|built|set|pushed|made|put|happen|happened|get|go|gone|tried|written|take|taken|work|uploaded)\b"
    r"|\b(?:did|do|have|has) not (?:yet )?(?:push|deploy|publish|run|apply|send|verify|verified|check|checked|test|tested|merge|upload|execute|create|start|install|happen|complete|finish)\w*\b"
    r"|\bcould not be\b|\bcan not be\b|(?<!no )\bfail(?:s|ed|ing)?\b|\bremains? (?:undone|open|unread|untested|pending|unverified)\b"
    r"|\b(?:is|are|remains?) (?:still |therefore |only )?(?:missing|open|pending|unverified|untested|local|incomplete|placeholders?|undone|unread|unpublished|a draft|only local|only a draft|skipped|outstanding)\b"
    r"|\bstill (?:has|have|needs?|missing|belong|a draft|to be)\b|\bnothing (?:was|has|is|could)\b|\bnot done\b|\bunchanged\b|\bstill (?:sitting|waiting|only)\b|\b(?:is|are) waiting\b|\buntested\b|\bskipped\b|\bi (?:had to )?(?:stop|stopped|gave up)\b|\bnot (?:yet )?(?:applied|deployed|pushed|published|sent|run|tested|verified)\b"
)
_HANDOVER = re.compile(
    r"\b(?:needs?|have|has|must|require[sd]?|should|will|please|want)\b.*\b(?:by hand|by you|by someone|by an admin|by somebody|on your (?:side|end|machine)|yourself|yourselves|manually)\b"
    r"|\b(?:someone|somebody|a person|an admin\w*) (?:with|who has)\b.*\b(?:has to|needs? to|must|should|will have to|can)\b|\b(?:someone|somebody) with (?:access|rights|permissions?|admin|sudo|the)\b"
    r"|\bonly you can\b"
)
_ADDRESSED = re.compile(r"\b(?:you|your|yourself|please|someone|somebody|by hand|admin)\b")
_NOT_HANDED = re.compile(r"\b(?:not|no need|never|without|nothing|instead of|used to|if you)\b|\brather than\b")

# --- what undoes it ---------------------------------------------------------------------------------------------

_WORKED = _any(
    """worked; works; succeeded; succeeds; went through; goes through; is up; is done; fixed; resolved; got in; got through; could verify;
    solved; did the trick; is back; are back; corrected; unlocked; got it; gave it; granted; match"""
)
_DONES = _any(
    """is live; pushed; deployed; published; connected; restarted; uploaded; passes; passed; is in the; are in the; is now; is deployed; installed;
    rolled out; completed; sent; merged; created; logged in; verified; restored; applied; ran; finished; confirmed; is running; running;
    built; queried; charged"""
)
# What went well beside what failed.
_ASIDE = re.compile(r"\b(?:unit|other|others|rest|everything else|all else|else|locally|local|code|lint\w*|type check\w*|syntax|dry run|existing|mock\w*|draft\w*)\b")
_DONE = re.compile(rf"\b(?:{_DONES})\b")
_WENT_WELL = re.compile(
    rf"\b(?:{_WORKED})\b|^(?:switched|used|installed|retried|replaced|changed|moved|went|took|found) "
    r"|\b\w+ed\b.* instead\b|\binstead\b.* \w+ed\b"
    r"|\bi (?:then |simply |just )?(?:used|switched|went|requested|borrowed|worked around|fell back|found|asked for|tried again|moved|did it|took|ran|rebuilt|added|replaced|changed|reran|generated)\b"
    r"|\b(?:it|that|the \w+) (?:now )?(?:works|is (?:now )?(?:deployed|live|published|done|fixed|pushed|in place|green|up))\b|\bi (?:could|was able to|managed to)\b(?! not| only)"
)
_EARLY = re.compile(
    r"\b(?:at first|initially|originally|previously|earlier|in the beginning|at the start|the first (?:time|try|attempt|\w+)|before that|before|until (?:i|now|then)|used to|had been|the old|yesterday|last (?:night|week)|for a while)\b"
)
_THEN = re.compile(
    r"\b(?:then|afterwards?|after|once|until|turned out|in the end|eventually|finally|retr(?:y|ied)|tried again|worked around|instead|so i (?:used|switched|installed|went|ran|took|fell|added|replaced|changed|moved|queried|worked)|the one in|with the (?:new|right)|later|and then)\b|^(?:switched|used|installed|retried|replaced|changed|moved|went|took|found) "
)
_BUT = re.compile(r"\b(?:but|however|now|luckily|fortunately|yet|still|so)\b")
_CONDITION = re.compile(
    r"^(?:and |or |but |so |even )?(?:if|in case|should|whenever|suppose|assuming|provided|as long as|wherever|when|otherwise|unless|in the event)\b"
)
_WISH = re.compile(r"\bif (?:you|that) (?:want|like|need|prefer|wish|would|could|can|give|have time|is ok)\b|\bunless\b")
_CONCESSION = re.compile(r"^(?:although|though|even though|while|despite|even without|even if)\b")
_RELATIVE = re.compile(r"^(?:that|which|who)\b")
_QUESTION = re.compile(r"[?？]\s*$")
_ASKED = re.compile(r"^(?:can|could|ca|do|does|did|is|are|why|how|what|which|who|should|shall|would|will|want|or)\b")
_REPORT = re.compile(r"\b(?:says?|said|prints?|printed|wrote|reads?|reports?|reported|shows?|showed|message|error|log|logs|raises?|returns?|lists?|describes?|documents?|explains?|covers?)\b")
_SCOPE = re.compile(r"\b(?:you (?:only |just )?(?:asked|said|told|did not ask|wanted)|not part of|out of scope|outside the scope|was not asked|as requested|as agreed|your (?:approval|go-ahead|confirmation|ok)|until you (?:tell|choose|decide|confirm|approve|say|answer|pick|reply|review|let me))\b")


def signs(text: str) -> list[Sign]:
    """The signs of each clause, in order."""
    plain = _plain(text)
    if _QUESTION.search(plain) and _ASKED.match(_HEAD.sub("", plain)):
        return [Sign.VOID]
    found: list[Sign] = []
    others = hypothetical = False  # whether somebody else is spoken of; whether a condition stands before
    for clause in _clauses(plain):
        if _CONDITION.match(clause) or (hypothetical and clause.startswith(("and ", "or "))):
            found.append(Sign.VOID)
            hypothetical = hypothetical or not _WISH.search(clause)
            continue
        sign = _read(clause, others or bool(found and _RELATIVE.match(clause)))
        if hypothetical:
            sign = Sign.VOID
        elif _CONCESSION.match(clause) or _SCOPE.search(clause):
            sign |= Sign.VOID
        found.append(sign)
        others = _speaks_of_others(clause, others)
    return found


def _clauses(plain: str) -> Iterator[str]:
    return (clause for clause in (part.strip(" .!…?") for part in _SPLIT.split(plain)) if clause)


def _speaks_of_others(clause: str, before: bool) -> bool:
    words = _HEAD.sub("", clause).split()
    if not words or {"i", "my", "me", "mine"} & set(words):
        return False
    return before or len(words) > 3 or bool(_REPORT.search(clause))


def _read(clause: str, others: bool) -> Sign:
    bare = _HEAD.sub("", clause)
    sign = _inability(bare, others) | _lack(bare, others)
    for what, pattern in ((Sign.UNDONE, _UNDONE), (Sign.EARLY, _EARLY), (Sign.THEN, _THEN), (Sign.BUT, _BUT)):
        if pattern.search(clause):
            sign |= what
    if not (_NEGATION.search(clause) or _ASIDE.search(clause) or sign & (Sign.CANNOT | Sign.MAYBE)):
        sign |= (Sign.DONE if _DONE.search(clause) else sign) | (Sign.WORKED if _WENT_WELL.search(clause) else sign)
    if _HANDOVER.search(clause) and not _NOT_HANDED.search(clause):
        sign |= Sign.CANNOT if _ADDRESSED.search(clause) else Sign.UNDONE
    return sign


def _inability(clause: str, others: bool) -> Sign:
    """What a clause says of what can't be done."""
    if _NO_WAY.search(clause) and not _PERSON.match(clause):
        return Sign.CANNOT
    if _NOT_POSSIBLE.search(clause):
        return Sign.CANNOT if _PLACE.search(clause) else Sign.MAYBE
    found = _CANNOT.search(clause)
    if found is None:
        return Sign.CANNOT if _BLOCKED.search(clause) else Sign.NONE
    before, after = clause[: found.start()].rstrip(), clause[found.end() :]
    if _TRADE.search(after) or _PRINCIPLE.search(clause):
        return Sign.NONE
    is_speaker = bool(_SPEAKER.search(before)) or (not before and not others) or bool(_MINE.search(before))
    if not is_speaker and _PLACE.search(after) and not _PERSON.search(before) and "here" not in after:
        return Sign.CANNOT
    if not is_speaker:
        return Sign.MAYBE if re.match(r" be\b", after) or not before else Sign.NONE
    return _deed(after, we=bool(_WE.search(before)), placed=bool(_PLACE.search(clause)))


def _deed(after: str, *, we: bool, placed: bool) -> Sign:
    """What follows `I can't`."""
    if _SEEING.match(after):
        return Sign.CANNOT
    if _HARMLESS.match(after):
        return Sign.NONE
    if _CODING.match(after) or after.startswith(" see "):
        return Sign.MAYBE
    rest = after[_SKIP.match(after).end() :].strip()  # type: ignore[union-attr]  # matches nothing too
    known = not rest or rest[0] in (CODE + QUOTE) or _DEED.match(rest) or _DEED_ING.match(rest)
    return Sign.CANNOT if not we or (placed and known) else Sign.MAYBE


def _lack(clause: str, others: bool) -> Sign:
    """What a clause says of what is missing."""
    mine = bool(_ME.search(clause) or _MINE.search(clause)) or (not others and clause.startswith(("have ", "lack ", "am ")))
    if (_BARRED.search(clause) or _DENIED.search(clause)) and _PLACE.search(clause):
        return Sign.CANNOT
    if _BARRED.search(clause) and (mine or _PLACE.search(clause)):
        return Sign.CANNOT
    missing = _is_missing(clause)
    if missing and not _PERSON.match(clause) and not _USED.search(clause):
        if mine or _PLACE.search(clause) or (_BARE.match(clause) and not others):
            return Sign.CANNOT
        return Sign.REASON
    if mine and _WITHOUT_IT.search(clause):
        return Sign.CANNOT
    if _DENIED.search(clause) or _REQUIRES.search(clause) or missing or _BARRED.search(clause):
        return Sign.REASON
    return Sign.NONE


def _is_missing(clause: str) -> bool:
    if _HAVE_NOT.search(clause) or _NONE_HERE.search(clause) or _BARE.match(clause) or _SPENT.search(clause):
        return True
    return bool(_NOT_STATE.search(clause) and _NEGATION.search(clause))
