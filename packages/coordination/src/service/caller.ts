/** The sign-in that an access token states, with its ids in identity. */
export interface SignIn {
  readonly iamTenantId: string;
  /** The browser session, the identity at a provider, or another credential. */
  readonly credentialId: string;
  /** In milliseconds since 1970. */
  readonly atMs: number;
}

/** The caller and its permissions: always derived from the credential, never from the content of the request. */
export interface Caller {
  readonly tenantId: string;
  readonly principalId: string;
  readonly kind: 'human' | 'agent' | 'service';
  /** The identity actor; null for an API key. */
  readonly iamPrincipalId: string | null;
  /** The permissions of the binding or key, narrowed by the token's scopes. */
  readonly permissions: ReadonlySet<string>;
  /** The scopes of the token; absent for an API key. */
  readonly scopes?: ReadonlySet<string>;
  /**
   * The binding, or the API key of a caller without an identity actor. Absent without a caller and for background work.
   */
  readonly credentialId?: string;
  /**
   * The hashes of the ids whose revocation ends the access: the credential, and for an access token also the identity,
   * its identity provider and the binding.
   */
  readonly revocableBy?: readonly string[];
  /** The principal's agent in the registry; null or absent for other principals. */
  readonly agentId?: string | null;
  /**
   * The person whose visibility applies, because an agent may act for a person who sees less. If absent, the caller's
   * own visibility applies.
   */
  readonly seesAs?: string;
  /** How a person signed in; absent for an API key, and for a token that does not state it. */
  readonly signIn?: SignIn;
  /** The approval that a decide-only token permits; absent for other credentials. */
  readonly approvalId?: string;
  /** The person's full permissions, which apply to the consequences of the decision. */
  readonly permissionsAfter?: ReadonlySet<string>;
  /** The channel that delivered a decide-only token. */
  readonly channel?: string;
}

/** The caller of an endpoint without a principal: no permissions, and no actor in its events. */
export const nobody: Caller = {
  tenantId: '',
  principalId: '',
  kind: 'service',
  iamPrincipalId: null,
  permissions: new Set(),
};
