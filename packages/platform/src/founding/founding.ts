import type { Home } from '../home.ts';
import { findGoodToken, foundIdentity } from './administrator.ts';
import { jsonApi } from './json-api.ts';
import { foundCoordination } from './membership.ts';
import type { FoundingState } from './state.ts';

export interface FoundingOptions {
  readonly home: Home;
  readonly state: FoundingState;
  /** Where both services answer, identity below /iam. */
  readonly url: string;
  readonly secrets: { readonly iamBootstrapToken: string; readonly cpBootstrapToken: string };
  /** The audience and scope for provisioning. */
  readonly scim: { readonly audience: string; readonly scope: string };
}

export interface Founded {
  /** The administrator's personal access token. */
  readonly adminToken: string;
  /** The administrator as a principal of coordination. */
  readonly adminPrincipalId: string;
}

/**
 * Sets up tenant and administrator in both services, over HTTP like any client, as far as they are missing. Every step
 * can be repeated: after a crash anywhere the next call finishes the work, and when all is done it only looks.
 * @throws StartError with one sentence
 */
export async function found(options: FoundingOptions): Promise<Founded> {
  const { home, state, url, secrets, scim } = options;
  const identity = jsonApi(`${url}/iam`, { 'x-iam-bootstrap-token': secrets.iamBootstrapToken });
  const founding = { home, state, identity, scim };
  const adminToken = (await findGoodToken(founding)) ?? (await foundIdentity(founding));
  const { cpBootstrapToken } = secrets;
  const membership = { home, state, identity, coordinationUrl: url, cpBootstrapToken, adminToken };
  return { adminToken, adminPrincipalId: await foundCoordination(membership) };
}
