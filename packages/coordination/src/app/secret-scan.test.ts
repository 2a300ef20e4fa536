import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Statement, sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { startSecretStore } from '../testing/access/secret-store.ts';
import { startCoordination, type TestCoordination } from '../testing/coordination.ts';
import { done } from '../testing/leases.ts';
import { startProcess } from '../testing/programs/service-processes.ts';
import { agentSpec, newSecretValue, publishAgent } from '../testing/registry/agents.ts';
import { makeConnection, makeOauthConnection, newToken } from '../testing/registry/connections.ts';
import { startProvider } from '../testing/registry/oauth-provider.ts';

// The secrets of agents and connections are only in the secret store: not in the database, logs, journal or responses.

/** The forms in which a text may appear. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  // The scan searches for the middle of the base64 text, because a secret may begin within a group of three bytes.
  const encoded = [0, 1, 2].map((skip) => bytes.subarray(skip).toString('base64').slice(0, 20));
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret),
    bytes.toString('hex'),
    ...encoded,
  ];
}

/** The names of the locations that contain any of the secrets. */
function placesOf(secrets: readonly string[], places: ReadonlyMap<string, string>): string[] {
  const forms = secrets.flatMap(formsOf);
  return [...places].filter(([, text]) => forms.some((form) => text.includes(form))).map(([name]) => name);
}

/** Every row of every table as text, by table. */
async function dumpOf({ pool }: TestCoordination): Promise<Map<string, string>> {
  const tables = await pool.rows<{ name: string }>(sql`
    select c.oid::regclass::text as name from pg_class c
    where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace`);
  const dump = new Map<string, string>();
  for (const { name } of tables) {
    const statement: Statement<{ row: string }> = {
      text: `select t::text as row from only ${name} t`,
      values: [],
    };
    const rows = await pool.rows(statement);
    dump.set(`table ${name}`, rows.map(({ row }) => row).join('\n'));
  }
  return dump;
}

for (const kind of ['outside', 'table'] as const)
  test(`a scan of database, journal, logs and responses finds no secret of agents and connections (${kind})`, async () => {
    const [provider, vault] = [await startProvider(), await startSecretStore()];
    const baton = await startCoordination({
      ...provider.settings,
      ...(kind === 'outside' && vault.settings),
    });
    const served = await startProcess('serve', baton.env);
    const answers = new Map<string, string>();
    /** Calls the process whose logs are read. */
    const call = async (method: string, path: string, body?: unknown) => {
      const response = await fetch(`${served.url}/api/v1${path}`, {
        method,
        redirect: 'manual',
        headers: { authorization: `Bearer ${baton.admin.token}`, 'idempotency-key': newId() },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const text = `${JSON.stringify([...response.headers])}\n${await response.text()}`;
      answers.set(`answer ${answers.size} of ${method} ${path}`, text);
      return response.status;
    };
    try {
      const [first, second, refused, token] = [
        newSecretValue(),
        newSecretValue(),
        newSecretValue(),
        newToken(),
      ];
      const { key: agent } = await publishAgent(baton.admin, agentSpec());
      const { key: oauth, type } = await makeOauthConnection(baton.admin, provider);
      const { key: byToken } = await makeConnection(baton.admin);
      const secretPath = `/agents/${agent}/secrets/tracker`;

      const { clientId, clientSecret } = provider;
      const { authorizeUrl } = await done(baton.admin.post(`/connections/${oauth}:authorize`, {}));
      const sent = { account: 'acme', token };
      const past = '2020-01-01T00:00:00Z';
      const statuses = [
        await call('PUT', secretPath, { value: first }),
        await call('PUT', secretPath, { value: second }),
        await call('PUT', `/connection-types/${type}/oauth-app`, { clientId, clientSecret }),
        await call('PUT', `/connections/${byToken}/token`, sent),
        // A value that the service refuses must not appear anywhere.
        await call('PUT', secretPath, { value: refused, more: refused }),
        await call('PUT', secretPath, `{"value": "${refused}"`),
        await call('PUT', `/agents/${agent}/secrets/${refused}`, { value: refused.repeat(10) }),
        await call('PUT', `/connections/${byToken}/token`, { ...sent, expiresAt: past }),
        await call('PUT', `/connections/${byToken}/token`, { ...sent, token: [refused] }),
      ];
      assert.deepEqual(statuses, [201, 200, 200, 200, 400, 400, 422, 422, 400]);
      await call('GET', `/connections:callback${provider.agree(authorizeUrl).query}`);
      const again = await done(baton.admin.post(`/connections/${oauth}:authorize`, {}));
      await call('GET', `/connections:callback${provider.agree(again.authorizeUrl).query}`);
      provider.behave({ status: 400, body: JSON.stringify({ error: 'invalid_grant', token: clientSecret }) });
      const failing = await done(baton.admin.post(`/connections/${oauth}:authorize`, {}));
      await call('GET', `/connections:callback${provider.agree(failing.authorizeUrl).query}`);
      if (kind === 'outside') {
        vault.behave({ answer: { status: 500, body: JSON.stringify({ errors: [first] }) } });
        assert.equal(await call('PUT', secretPath, { value: refused }), 503);
        vault.behave({});
      }
      for (const path of [
        `/agents/${agent}`,
        `/agents/${agent}/secrets`,
        `/agents/${agent}/revisions`,
        '/connections',
        `/connections/${oauth}`,
        `/connections/${byToken}`,
        `/connection-types/${type}/oauth-app`,
        '/events?limit=200',
      ])
        assert.equal(await call('GET', path), 200, path);
      assert.ok(provider.given.length >= 1, 'the provider has issued tokens');

      const secrets = [first, second, token, clientSecret, ...provider.given];
      // The name of a secret is not confidential: a refused name appears in the refusal.
      const names = [...answers].filter(([name]) => name.endsWith(refused)).map(([name]) => name);
      const places = new Map([...(await dumpOf(baton)), ...answers, ['logs', served.printed()]]);
      assert.ok(served.printed().length > 0);
      assert.deepEqual(placesOf(secrets, places), []);
      assert.deepEqual(placesOf([refused], places), names);

      // The scan finds stored secrets.
      const planted = `planted ${newId()}`;
      assert.equal(await call('POST', '/tasks', { title: planted }), 201);
      const found = placesOf([planted], new Map([...(await dumpOf(baton)), ...answers]));
      assert.ok(
        found.includes('table tasks') && found.some((name) => name.endsWith('POST /tasks')),
        found.join(),
      );
    } finally {
      await served.stop();
      await baton.close();
      await provider.close();
      await vault.close();
    }
  });
