import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import { keepSecret } from '@baton/kernel/testing/leaks/leaks';
import { assertionGrant } from '../../../issuing/oauth2/oauth-token.ts';
import { sendForm } from '../../../issuing/oauth2/testing/forms.ts';
import { type Answer, startIdentity, type TestIdentity, testSigningKey } from '../../../testing/identity.ts';
import {
  made,
  makeAudience,
  makePrincipal,
  makeTenant,
  readScope,
  writeScope,
} from '../../../testing/objects.ts';
import { jwkOf, makePair, nowSeconds, type SigningPair } from '../../federation/testing/upstream.ts';

/** Jobs of GitHub Actions. The keys are uploaded, since no test contacts GitHub. */

export const githubIssuer = 'https://token.actions.githubusercontent.com';
export const batonAudience = 'https://baton.example';
export const githubKey: SigningPair = makePair('github-1');

export function startWorkloads(settings: Record<string, string> = {}): Promise<TestIdentity> {
  return startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey(), ...settings });
}

/** A tenant with a provider, an agent, and a rule for the main branch of a repository. */
export interface WorkloadRealm {
  readonly tenantId: string;
  readonly principalId: string;
  readonly providerId: string;
  /** The path of the provider, with a leading slash. */
  readonly path: string;
  readonly key: string;
  readonly repositoryId: string;
  // biome-ignore lint/suspicious/noExplicitAny: the form of a response is what the tests are about
  readonly rule: any;
}

let repositories = 700_000;

/**
 * @param changes to the rule. @param providerChanges to its provider
 */
export async function makeWorkloadRealm(
  identity: TestIdentity,
  changes: object = {},
  providerChanges: object = {},
): Promise<WorkloadRealm> {
  const tenantId = await makeTenant(identity);
  await makeAudience(identity, tenantId);
  const principalId = await makePrincipal(identity, tenantId);
  const key = `ci-${randomUUID().slice(0, 8)}`;
  const provider = {
    key,
    issuer: githubIssuer,
    // A separate audience for each tenant, so that the tests needn't name the tenant.
    audience: `${batonAudience}/${tenantId}`,
    principalKind: 'none',
    keySet: { keys: [jwkOf(githubKey)] },
    ...providerChanges,
  };
  const made_ = await made(identity.post(`/tenants/${tenantId}/identity-providers`, provider));
  const path = `/tenants/${tenantId}/identity-providers/${key}`;
  repositories += 1;
  const repositoryId = String(repositories);
  const wanted = {
    key: 'release',
    principalId,
    claims: { repository_id: { equals: repositoryId }, ref: { equals: 'refs/heads/main' } },
    audiences: ['control-plane'],
    scopeCeiling: [readScope, writeScope],
    ...changes,
  };
  const rule = await made(identity.post(`${path}/workload-rules`, wanted));
  return { tenantId, principalId, providerId: made_.id, path, key, repositoryId, rule };
}

/** The claims of a job, as GitHub makes them. An undefined claim is left out. */
export function jobClaims({ tenantId, repositoryId }: WorkloadRealm, changes: object = {}) {
  const iat = nowSeconds();
  return {
    iss: githubIssuer,
    aud: `${batonAudience}/${tenantId}`,
    sub: 'repo:acme/shop:ref:refs/heads/main',
    jti: randomUUID(),
    repository: 'acme/shop',
    repository_id: repositoryId,
    repository_owner: 'acme',
    repository_owner_id: '42',
    ref: 'refs/heads/main',
    ref_protected: 'true',
    event_name: 'push',
    iat,
    nbf: iat - 600,
    exp: iat + 300,
    ...changes,
  };
}

export async function signJob(
  realm: WorkloadRealm,
  changes: object = {},
  header: object = {},
  { kid, alg, privateKey }: SigningPair = githubKey,
): Promise<string> {
  const signing = new SignJWT(jobClaims(realm, changes));
  const token = await signing.setProtectedHeader({ alg, kid, typ: 'JWT', ...header }).sign(privateKey);
  keepSecret('assertion', token);
  return token;
}

/** Presents an assertion. An empty field is left out. */
export function present(
  identity: TestIdentity,
  assertion: string,
  more: Record<string, string> = {},
): Promise<Answer> {
  const form = { grant_type: assertionGrant, assertion, audience: 'control-plane', ...more };
  return sendForm(identity, 'token', form);
}
