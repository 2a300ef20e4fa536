/** The caller and its permissions: always taken from the credential, never from the request's content. */
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
  /** The binding, or the API key if there is no identity actor. Absent without a caller and for background work. */
  readonly credentialId?: string;
  /** The principal's agent in the registry; null or absent for other principals. */
  readonly agentId?: string | null;
  /** The person whose visibility applies: an agent acts for somebody who may see less. Absent: its own. */
  readonly seesAs?: string;
  /** The one approval that a token for one decision is for; absent for other credentials. */
  readonly approvalId?: string;
  /** The person's permissions with another token, for the consequences of the decision. */
  readonly permissionsAfter?: ReadonlySet<string>;
  /** The channel that delivered a token for one decision. */
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
