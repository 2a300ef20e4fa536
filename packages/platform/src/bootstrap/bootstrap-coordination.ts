import type { Home } from '../home.ts';
import { StartError } from '../start-error.ts';
import { controlPlane } from './audiences.ts';
import { expectSuccess, type JsonApi, jsonApi } from './json-api.ts';
import { type BootstrapState, saveState } from './state.ts';

export interface CoordinationBootstrap {
  readonly home: Home;
  readonly state: BootstrapState;
  readonly identity: JsonApi;
  /** Coordination's address, without a path. */
  readonly coordinationUrl: string;
  readonly cpBootstrapToken: string;
  /** The administrator's personal access token. */
  readonly adminToken: string;
}

interface Page<Item> {
  readonly items: readonly Item[];
}

/**
 * Creates the tenant in coordination, with the administrator bound to its identity, unless it exists. @returns the id
 * of the administrator's principal in coordination
 * @throws StartError
 */
export async function bootstrapCoordination(context: CoordinationBootstrap): Promise<string> {
  const { home, state, coordinationUrl, cpBootstrapToken } = context;
  const api = jsonApi(coordinationUrl, { authorization: `Bearer ${await accessToken(context)}` });
  if (state.adminPrincipalId !== undefined) {
    const known = await api.send('GET', `/api/v1/principals/${state.adminPrincipalId}`);
    if (known.status === 200) return state.adminPrincipalId;
  }
  const answer = await jsonApi(coordinationUrl, { authorization: `Bearer ${cpBootstrapToken}` }).send(
    'POST',
    '/api/v1/bootstrap',
    {
      body: {
        tenantId: state.tenantId,
        tenantSlug: 'baton',
        tenantName: 'Baton',
        adminDisplayName: 'Administrator',
        iamBinding: {
          issuer: state.issuer,
          iamTenantId: state.tenantId,
          iamPrincipalId: state.principalId,
        },
      },
    },
  );
  if (answer.code === 'already_bootstrapped') state.adminPrincipalId = await findBoundPrincipal(api, state);
  else {
    const { adminPrincipal } = expectSuccess(answer, 'creating the tenant in coordination') as {
      adminPrincipal: { id: string };
    };
    state.adminPrincipalId = adminPrincipal.id;
  }
  saveState(home, state);
  return state.adminPrincipalId;
}

async function accessToken({ identity, adminToken }: CoordinationBootstrap): Promise<string> {
  const answer = await identity.send('POST', '/api/v1/platform-access-tokens:exchange', {
    body: { token: adminToken, audience: controlPlane },
  });
  return String(expectSuccess(answer, "exchanging the administrator's token").accessToken);
}

/** The administrator's principal, if a crash lost the response that contained its id. */
async function findBoundPrincipal(api: JsonApi, state: BootstrapState): Promise<string> {
  const humans = await api.send('GET', '/api/v1/principals?kind=human');
  if (humans.status === 401)
    throw new StartError(
      'The coordination database belongs to another Baton folder or issuer. Set BATON_HOME to that folder, or use an empty database.',
    );
  const { items } = expectSuccess(humans, 'listing the human principals') as unknown as Page<{ id: string }>;
  for (const { id } of items) {
    const answer = await api.send('GET', `/api/v1/principals/${id}/iam-bindings`);
    const bindings = expectSuccess(answer, 'listing bindings') as unknown as Page<Record<string, unknown>>;
    if (bindings.items.some(({ iamPrincipalId }) => iamPrincipalId === state.principalId)) return id;
  }
  throw new StartError(
    'The coordination database has another administrator than this Baton folder. Use an empty database.',
  );
}
