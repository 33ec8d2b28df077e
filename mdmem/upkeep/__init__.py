"""What keeps memories true: probes that check them."""
