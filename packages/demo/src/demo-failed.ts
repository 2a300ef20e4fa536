/** The demo can't continue. The message is shown to the person who started it. */
export class DemoFailed extends Error {}
