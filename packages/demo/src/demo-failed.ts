/** The demo can't go on: its message is a sentence for the person who started it. */
export class DemoFailed extends Error {}
