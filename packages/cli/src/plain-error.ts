/** An error whose message is printed as it is, without a stack trace; the command exits with code 1. */
export class PlainError extends Error {}
