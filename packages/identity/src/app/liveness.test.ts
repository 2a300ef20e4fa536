import { join } from 'node:path';
import type { Operation } from '@baton/kernel/http/service';
import { livenessTests } from '@baton/kernel/testing/liveness/liveness';
import type { Hostile } from '@baton/kernel/testing/liveness/liveness-bodies';
import type { Sent } from '@baton/kernel/testing/matrix/matrix-client';
import { assertionGrant } from '../issuing/oauth2/oauth-token.ts';
import { adminHeader } from '../testing/identity.ts';
import { matrixSetup } from '../testing/matrix-setup.ts';
import { makeBearer } from '../testing/objects.ts';

livenessTests({
  ...matrixSetup,
  program: { main: join(import.meta.dirname, 'main.ts'), portSetting: 'IAM_PORT', readyPath: '/readyz' },
  async ordinary({ otherTenant: { identity, source } }) {
    const { token, tenantId } = await makeBearer(identity);
    const calls: Sent[] = [
      { method: 'GET', path: `/api/v1/tenants/${tenantId}/principals`, headers: adminHeader },
      {
        method: 'POST',
        path: '/api/v1/platform-access-tokens:exchange',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ token, audience: 'control-plane' }),
      },
      { method: 'GET', path: '/scim/v2/Users', headers: { authorization: `Bearer ${source.token}` } },
    ];
    return calls;
  },
  worse: (operation) => [...worstOfScim(operation), ...worstOfAssertions(operation)],
});

/** An assertion has a different form, and is read before anything about it is proven. */
function worstOfAssertions({ id }: Operation): Hostile[] {
  if (id !== 'grantOauthToken') return [];
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const payloads = {
    'an unknown issuer': { iss: 'https://token.example', aud: 'x', more: 'x'.repeat(11_000) },
    'many audiences': { iss: 'https://token.example', aud: Array(4000).fill('a') },
    'a deep payload': JSON.parse(`${'{"a":'.repeat(1000)}{}${'}'.repeat(1000)}`),
  };
  return Object.entries(payloads).map(([name, payload]) => {
    const assertion = `${encode({ alg: 'RS256' })}.${encode(payload)}.AAAA`;
    const form = { grant_type: assertionGrant, audience: 'control-plane', assertion };
    return { name, text: new URLSearchParams(form).toString() };
  });
}

const filterCharactersMax = 2000;
const term = 'emails[type eq "work" and value co "a"]';

/** A filter has a grammar, which the declaration of the parameter doesn't describe. */
function worstOfScim({ auth, query, id }: Operation): Hostile[] {
  const filter = `${term} or `.repeat(Math.floor(filterCharactersMax / (term.length + 4)) - 1) + term;
  const filtered = [filter, 'userName co "a" or title pr', 'not (displayName ew "a")'].map((one) => ({
    name: 'filter',
    query: `?filter=${encodeURIComponent(one)}&count=1000`,
  }));
  if (auth !== 'provisioning') return [];
  if ('filter' in query) return filtered;
  return id === 'updateScimUser' ? [{ name: 'operations', text: operations() }] : [];
}

/** The maximum number of operations in a PATCH, each with a filter. */
function operations(): string {
  const filter = Array.from({ length: 43 }, (_, at) => `value eq "${at}"`).join(' or ');
  const operation = { op: 'replace', path: `emails[${filter}].type`, value: 'work' };
  const emails = Array.from({ length: 1000 }, (_, at) => ({ value: `a${at}@example.com` }));
  const Operations = [
    { op: 'add', path: 'emails', value: emails },
    ...Array.from({ length: 500 }, () => operation),
  ];
  return JSON.stringify({ schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'], Operations });
}
