/**
 * The result of sending one message to one recipient. The reasons contain no address, because tenants and the log can
 * see them.
 */
export type SendOutcome =
  | { readonly kind: 'sent' }
  /**
   * Retrying is useless; the message was not sent. `isOfRecipient`: further messages to the same address or webhook
   * would be refused, too.
   */
  | { readonly kind: 'refused'; readonly reason: string; readonly isOfRecipient: boolean }
  /** The message can be sent later. `isUnknown`: it may already have been sent. */
  | { readonly kind: 'failed'; readonly reason: string; readonly isUnknown: boolean }
  /** The server, not the message, is at fault; the message was not sent. */
  | { readonly kind: 'away'; readonly reason: string; readonly blame: 'sink' | 'unclear' };

/** Sends one message. @param signal aborts when the time has run out */
export type Send = (signal: AbortSignal) => Promise<SendOutcome>;
