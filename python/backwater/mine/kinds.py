"""Kinds of schemes of your own, each with a template."""

KINDS = {
    "rate": "a congestion control: a rate, a window, or both",
    "backpressure": "how a switch pauses its neighbours",
    "assignment": "which queue of a port a packet joins",
    "transport": "what senders and receivers do, with their own way to recover from loss",
}
