/**
 * An invitation that was not made, or only partly. The message names what is left and what to do. `cause` is the error
 * of the service.
 */
export class InviteFailure extends Error {
  override readonly name = 'InviteFailure';
  /**
   * `not_allowed`: nothing was created, because the inviter may not give the role. `already_invited`: nothing was
   * created, because an open invitation of this person exists. `undone`: a later step was rejected, and the link was
   * revoked. `unfinished`: something is left that the message names; inviting the person again completes it.
   */
  readonly reason: 'not_allowed' | 'already_invited' | 'undone' | 'unfinished';
  /** The existing invitation. */
  readonly invitationId: string | undefined;

  constructor(
    reason: InviteFailure['reason'],
    message: string,
    { invitationId, cause }: { readonly invitationId?: string; readonly cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.reason = reason;
    this.invitationId = invitationId;
  }
}
