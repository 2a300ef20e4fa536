import { randomUUID } from 'node:crypto';
import type { Home } from '../home.ts';
import { readPrivateFile, writePrivateFile } from '../private-files.ts';
import { StartError } from '../start-error.ts';
import { audienceScopes, controlPlane, ensureAudiences } from './audiences.ts';
import { expectSuccess, type JsonApi } from './json-api.ts';
import { type BootstrapState, saveState } from './state.ts';

export interface IdentityBootstrap {
  readonly home: Home;
  readonly state: BootstrapState;
  /** Identity's API, with the admin secret. */
  readonly identity: JsonApi;
  readonly scim: { readonly audience: string; readonly scope: string };
}

const displayName = 'Administrator';
const secondsPerDay = 86_400;
const tokenLifeDays = 365;
/** A token that expires sooner is replaced at the next start. */
const tokenRenewDays = 30;
const issueAttemptsMax = 3;
const journalPageLimit = 500;
const journalPagesMax = 20;

/** The administrator's token that an earlier start stored, unless it is invalid or expires soon. */
export async function findUsableToken({
  home,
  state,
  identity,
}: IdentityBootstrap): Promise<string | undefined> {
  const token = readPrivateFile(tokenFile(home))?.trim();
  if (token === undefined) return undefined;
  const { status, body } = await identity.send('POST', '/api/v1/platform-access-tokens:introspect', {
    body: { token },
  });
  const daysLeft = (Date.parse(String(body.expiresAt)) - Date.now()) / 1000 / secondsPerDay;
  const isOurs = body.tenantId === state.tenantId && body.principalId === state.principalId;
  if (status !== 200 || !isOurs || !(daysLeft > tokenRenewDays)) return undefined;
  if (state.tokenKey !== undefined) {
    // The process crashed after it had stored the token and before it removed the key.
    delete state.tokenKey;
    saveState(home, state);
  }
  return token;
}

/**
 * Creates the tenant, its audiences, the administrator and its token, if they are missing. Every step is idempotent:
 * after a crash anywhere the next call continues.
 * @returns the administrator's token
 * @throws StartError
 */
export async function bootstrapIdentity(context: IdentityBootstrap): Promise<string> {
  const { home, state, identity, scim } = context;
  const isNewTenant = await ensureTenant(identity, state.tenantId);
  await ensureAudiences(identity, state.tenantId, scim);
  state.principalId = await ensurePrincipal(context, isNewTenant);
  saveState(home, state);
  const token = await findUsableToken(context);
  if (token !== undefined) return token;
  const issued = await issueToken(context, state.principalId);
  writePrivateFile(tokenFile(home), `${issued}\n`);
  delete state.tokenKey;
  saveState(home, state);
  return issued;
}

const tokenFile = (home: Home) => home.path('secrets', 'admin-token');

async function ensureTenant(identity: JsonApi, id: string): Promise<boolean> {
  const answer = await identity.send('POST', '/api/v1/tenants', {
    body: { id, slug: 'baton', name: 'Baton' },
  });
  if (answer.code === 'tenant_id_exists') return false;
  if (answer.code === 'tenant_slug_exists')
    throw new StartError(
      'The identity database belongs to another Baton folder. Set BATON_HOME to that folder, or use an empty database.',
    );
  expectSuccess(answer, 'creating the tenant');
  return true;
}

async function ensurePrincipal(
  { state, identity }: IdentityBootstrap,
  isNewTenant: boolean,
): Promise<string> {
  const path = `/api/v1/tenants/${state.tenantId}/principals`;
  if (state.principalId !== undefined) {
    const known = await identity.send('GET', `${path}/${state.principalId}`);
    if (known.status === 200) return state.principalId;
  }
  const orphan = isNewTenant ? undefined : await findFirstHuman(identity, state.tenantId);
  if (orphan !== undefined) return orphan;
  const made = await identity.send('POST', path, { body: { kind: 'human', displayName } });
  return String(expectSuccess(made, 'creating the administrator').id);
}

/** The tenant's first human: an administrator whose id was lost in a crash right after its creation. */
async function findFirstHuman(identity: JsonApi, tenantId: string): Promise<string | undefined> {
  let after = 0;
  for (let page = 0; page < journalPagesMax; page += 1) {
    const path = `/api/v1/events?after=${after}&limit=${journalPageLimit}`;
    const { items, next_after } = expectSuccess(await identity.send('GET', path), 'reading the journal') as {
      items: { tenant_id: string; type: string; aggregate_id: string; payload: { kind?: string } }[];
      next_after: number | null;
    };
    const found = items.find(
      ({ tenant_id, type, payload }) =>
        tenant_id === tenantId && type === 'principal.created' && payload.kind === 'human',
    );
    if (found !== undefined) return found.aggregate_id;
    if (next_after === null) return undefined;
    after = next_after;
  }
  return undefined;
}

/**
 * Issues a token. The idempotency key is stored before it is used. If a crash loses the response, the repeated request
 * returns the credential without its secret. That credential is then revoked and another one is issued.
 */
async function issueToken(
  { home, state, identity }: IdentityBootstrap,
  principalId: string,
): Promise<string> {
  const tenant = `/api/v1/tenants/${state.tenantId}`;
  const context = { body: { issuer: state.issuer, amr: ['local'] } };
  expectSuccess(
    await identity.send('POST', `${tenant}/principals/${principalId}/authentication-contexts`, context),
    "recording the administrator's sign-in",
  );
  for (let attempt = 0; attempt < issueAttemptsMax; attempt += 1) {
    state.tokenKey ??= randomUUID();
    saveState(home, state);
    const answer = await identity.send('POST', `${tenant}/principals/${principalId}/platform-access-tokens`, {
      headers: { 'idempotency-key': state.tokenKey },
      body: {
        name: 'baton start',
        audiences: [controlPlane],
        scopeCeiling: audienceScopes[controlPlane],
        expiresInSeconds: tokenLifeDays * secondsPerDay,
      },
    });
    const { token, credential } = expectSuccess(answer, "issuing the administrator's token") as {
      token: string | null;
      credential: { id: string };
    };
    if (token !== null) return token;
    const revoke = `${tenant}/platform-access-tokens/${credential.id}:revoke?reason=lost`;
    expectSuccess(await identity.send('POST', revoke), 'revoking a lost token');
    delete state.tokenKey;
  }
  throw new StartError("Setup failed: identity did not return the administrator's token. Start again.");
}
