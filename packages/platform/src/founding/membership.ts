import type { Home } from '../home.ts';
import { StartError } from '../start-error.ts';
import { controlPlane } from './audiences.ts';
import { expected, type JsonApi, jsonApi } from './json-api.ts';
import { type FoundingState, saveState } from './state.ts';

export interface Membership {
  readonly home: Home;
  readonly state: FoundingState;
  readonly identity: JsonApi;
  /** Where coordination answers, without a path. */
  readonly coordinationUrl: string;
  readonly cpBootstrapToken: string;
  /** The administrator's personal access token. */
  readonly adminToken: string;
}

interface Page<Item> {
  readonly items: readonly Item[];
}

/**
 * Makes the tenant in coordination with the administrator bound to its identity, unless that is done.
 * @returns the administrator's principal in coordination
 * @throws StartError
 */
export async function foundCoordination(membership: Membership): Promise<string> {
  const { home, state, coordinationUrl, cpBootstrapToken } = membership;
  const api = jsonApi(coordinationUrl, { authorization: `Bearer ${await accessToken(membership)}` });
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
  if (answer.code === 'already_bootstrapped') state.adminPrincipalId = await findBound(api, state);
  else {
    const { adminPrincipal } = expected(answer, 'making the tenant in coordination') as {
      adminPrincipal: { id: string };
    };
    state.adminPrincipalId = adminPrincipal.id;
  }
  saveState(home, state);
  return state.adminPrincipalId;
}

async function accessToken({ identity, adminToken }: Membership): Promise<string> {
  const answer = await identity.send('POST', '/api/v1/platform-access-tokens:exchange', {
    body: { token: adminToken, audience: controlPlane },
  });
  return String(expected(answer, "exchanging the administrator's token").accessToken);
}

/** The principal bound to our administrator, when a crash lost the answer that named it. */
async function findBound(api: JsonApi, state: FoundingState): Promise<string> {
  const people = await api.send('GET', '/api/v1/principals?kind=human');
  if (people.status === 401)
    throw new StartError(
      'The coordination database was set up from another Baton folder or for another issuer: use that folder (BATON_HOME), or an empty database.',
    );
  const { items } = expected(people, 'listing the people') as unknown as Page<{ id: string }>;
  for (const { id } of items) {
    const answer = await api.send('GET', `/api/v1/principals/${id}/iam-bindings`);
    const bindings = expected(answer, 'listing bindings') as unknown as Page<Record<string, unknown>>;
    if (bindings.items.some(({ iamPrincipalId }) => iamPrincipalId === state.principalId)) return id;
  }
  throw new StartError(
    'The coordination database has another administrator than this Baton folder: use an empty database.',
  );
}
