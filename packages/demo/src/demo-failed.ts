/** The demo can't continue: its message is for the person who started it. */
export class DemoFailed extends Error {}
