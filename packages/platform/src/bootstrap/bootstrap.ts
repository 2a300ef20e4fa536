import type { Home } from '../home.ts';
import { bootstrapCoordination } from './bootstrap-coordination.ts';
import { bootstrapIdentity, findUsableToken } from './bootstrap-identity.ts';
import { jsonApi } from './json-api.ts';
import type { BootstrapState } from './state.ts';

export interface BootstrapOptions {
  readonly home: Home;
  readonly state: BootstrapState;
  /** The address of both services, identity below /iam. */
  readonly url: string;
  readonly secrets: { readonly iamBootstrapToken: string; readonly cpBootstrapToken: string };
  /** The audience and scope for provisioning. */
  readonly scim: { readonly audience: string; readonly scope: string };
}

export interface BootstrapResult {
  /** The administrator's personal access token. */
  readonly adminToken: string;
  /** The administrator as a principal of coordination. */
  readonly adminPrincipalId: string;
}

/**
 * Creates the tenant and its administrator in both services, over HTTP like any client. Every step is idempotent: after
 * a crash, the next call finishes the work. If everything exists, a call only reads.
 * @throws StartError
 */
export async function bootstrap(options: BootstrapOptions): Promise<BootstrapResult> {
  const { home, state, url, secrets, scim } = options;
  const identity = jsonApi(`${url}/iam`, { 'x-iam-bootstrap-token': secrets.iamBootstrapToken });
  const context = { home, state, identity, scim };
  const adminToken = (await findUsableToken(context)) ?? (await bootstrapIdentity(context));
  const { cpBootstrapToken } = secrets;
  const adminPrincipalId = await bootstrapCoordination({
    home,
    state,
    identity,
    coordinationUrl: url,
    cpBootstrapToken,
    adminToken,
  });
  return { adminToken, adminPrincipalId };
}
