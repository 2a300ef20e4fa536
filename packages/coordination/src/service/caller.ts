/** Who asks, and what they may do: always taken from the credential, never from the request's content. */
export interface Caller {
  readonly tenantId: string;
  readonly principalId: string;
  readonly kind: 'human' | 'agent' | 'service';
  /** The identity actor; null for an API key. */
  readonly iamPrincipalId: string | null;
  /** What remains of the binding or key after the token's scopes. */
  readonly permissions: ReadonlySet<string>;
  /** The scopes of the token; absent for an API key. */
  readonly scopes?: ReadonlySet<string>;
  /** The binding, or the API key where there is no identity actor. Absent for nobody and for what the core does itself. */
  readonly credentialId?: string;
  /** The agent of the registry that the principal is; null or absent for any other principal. */
  readonly agentId?: string | null;
  /** The person with whose sight it acts: an agent for somebody who may see less than agents do. Absent: its own. */
  readonly seesAs?: string;
  /** The one approval that a decide-only token is for; absent for every other credential. */
  readonly approvalId?: string;
  /** What the person could do by another token: what their decision leads to is done with it. */
  readonly permissionsAfter?: ReadonlySet<string>;
  /** The channel through which a decide-only token was given out. */
  readonly channel?: string;
}

/** The caller of an endpoint without a principal: it has no permissions, and its events name no actor. */
export const nobody: Caller = {
  tenantId: '',
  principalId: '',
  kind: 'service',
  iamPrincipalId: null,
  permissions: new Set(),
};
