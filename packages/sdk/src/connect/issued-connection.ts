/**
 * What coordination knew about an agent before it got its token. Coordination's values are only compared with each
 * other, so no clock is involved.
 */
export interface CallsBefore {
  readonly lastUsedAt: string | null;
  readonly sessionId: string | null;
}

/** An agent with a new token, which nobody can read again. */
export interface IssuedConnection {
  readonly key: string;
  readonly displayName: string;
  readonly revision: number;
  readonly principalId: string;
  readonly credentialId: string;
  readonly token: string;
  readonly expiresAt: string;
  readonly lifetimeSeconds: number;
  /** Whether its permissions let it open a session, which names the client. */
  readonly opensSessions: boolean;
  /** The number of the agent's calls before it got this token. */
  readonly before: CallsBefore;
}
