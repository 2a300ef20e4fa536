/** Who asks, and what they may do: always taken from the credential, never from the request's content. */
export interface Caller {
  readonly tenantId: string;
  readonly principalId: string;
  readonly kind: 'human' | 'agent' | 'service';
  /** The identity actor; null for an API key. */
  readonly iamPrincipalId: string | null;
  /** What remains of the binding or key after the token's scopes. */
  readonly permissions: ReadonlySet<string>;
}

/** The caller of an endpoint without a principal: it has no permissions, and its events name no actor. */
export const nobody: Caller = {
  tenantId: '',
  principalId: '',
  kind: 'service',
  iamPrincipalId: null,
  permissions: new Set(),
};
