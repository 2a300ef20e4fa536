/** Said to the person as it stands, without a stack; the command ends with code 1. */
export class PlainError extends Error {}
