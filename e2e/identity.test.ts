import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  Client,
  ClientCredentialsProvider,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { type Participant, type RunningBaton, startRunningBaton } from '@baton/testing/running-baton';

// Identity in the default run, as seen by other services and clients.

let baton: RunningBaton;
before(async () => {
  baton = await startRunningBaton();
});
after(() => baton?.stop());

async function exchange({ token }: Participant): Promise<{ status: number; accessToken: string }> {
  const response = await fetch(`${baton.url}/iam/api/v1/platform-access-tokens:exchange`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token, audience: 'control-plane' }),
  });
  const { accessToken } = (await response.json()) as { accessToken: string };
  return { status: response.status, accessToken };
}

async function statusOf(accessToken: string): Promise<number> {
  const headers = { authorization: `Bearer ${accessToken}` };
  const response = await fetch(`${baton.url}/api/v1/tasks?limit=1`, { headers });
  await response.arrayBuffer();
  return response.status;
}

async function identityIdOf(participant: Participant): Promise<string> {
  const response = await fetch(`${baton.url}/iam/api/v1/platform-access-tokens:introspect`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token: participant.token }),
  });
  return ((await response.json()) as { principalId: string }).principalId;
}

describe('a revocation', () => {
  test('applies everywhere once its response arrives: earlier access tokens are rejected', async () => {
    for (let round = 0; round < 5; round += 1) {
      const agent = await baton.participant();
      const { accessToken } = await exchange(agent);
      assert.equal(await statusOf(accessToken), 200);
      const { principals } = baton.admin.identity;
      const id = await identityIdOf(agent);
      await principals.disable(baton.connection.tenantId, id);
      assert.equal(await statusOf(accessToken), 401);
      assert.equal((await exchange(agent)).status, 401);

      await principals.enable(baton.connection.tenantId, id);
      assert.equal(await statusOf(accessToken), 401, 'a token issued before the disable stays revoked');
      const { token } = await principals.createToken(baton.connection.tenantId, id, {
        name: 'again',
        audiences: ['control-plane'],
        scopeCeiling: ['control-plane:read'],
      });
      const fresh = await exchange({ ...agent, token: token as string });
      assert.equal(await statusOf(fresh.accessToken), 200);
    }
  });

  test("of one token doesn't affect the other tokens of its principal", async () => {
    const agent = await baton.participant();
    const other = await baton.participant();
    const [revoked, kept] = [await exchange(agent), await exchange(other)];
    assert.deepEqual([await statusOf(revoked.accessToken), await statusOf(kept.accessToken)], [200, 200]);
    const answer = await fetch(`${baton.url}/iam/oauth2/revoke`, {
      method: 'POST',
      body: new URLSearchParams({ token: agent.token }),
    });
    assert.equal(answer.status, 200);
    assert.deepEqual([await statusOf(revoked.accessToken), await statusOf(kept.accessToken)], [401, 200]);
  });
});

describe('an OAuth client', () => {
  const json = async (address: string | URL) => {
    const response = await fetch(address);
    assert.equal(response.status, 200, String(address));
    return (await response.json()) as Record<string, never>;
  };

  /** By RFC 8414, section 3.1, the path of the issuer follows the well-known one. */
  const metadataOf = (issuer: string) =>
    new URL(`/.well-known/oauth-authorization-server${new URL(issuer).pathname}`, issuer);

  test("finds the metadata of the MCP endpoint's authorization server", async () => {
    const resource = await json(`${baton.url}/.well-known/oauth-protected-resource/mcp`);
    const [issuer] = resource['authorization_servers'] as unknown as string[];
    const metadata = await json(metadataOf(issuer as string));
    assert.equal(metadata['issuer'], issuer);
    assert.deepEqual(metadata, await json(`${issuer}/.well-known/oauth-authorization-server`));
    for (const name of ['jwks_uri', 'service_documentation'])
      assert.equal((await fetch(metadata[name] as unknown as string)).status, 200, name);
    // Without an OAuth request, the page explains what is missing.
    const { status, headers } = await fetch(metadata['authorization_endpoint'] as unknown as string);
    assert.deepEqual([status, headers.get('content-type')], [400, 'text/html; charset=utf-8']);
  });

  test('takes a token for the MCP endpoint by its address, and reaches coordination with it', async () => {
    const agent = await baton.participant();
    const { resource, authorization_servers: servers } = await json(
      `${baton.url}/.well-known/oauth-protected-resource/mcp`,
    );
    const metadata = await json(metadataOf((servers as unknown as string[])[0] as string));
    const response = await fetch(metadata['token_endpoint'] as unknown as string, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        subject_token: agent.token,
        subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        resource: resource as unknown as string,
      }),
    });
    const token = (await response.json()) as { access_token: string };
    assert.equal(response.status, 200, JSON.stringify(token));
    assert.equal(await statusOf(token.access_token), 200);
  });

  test('of MCP by its own SDK connects with client credentials alone', async () => {
    const { tenantId, issuer } = baton.connection;
    const account = await baton.admin.identity.serviceAccounts.create(tenantId, {
      displayName: 'A service that speaks MCP',
      audiences: ['control-plane'],
      // Clients request every scope in the metadata of the endpoint.
      scopeCeiling: ['control-plane:read', 'control-plane:write'],
    });
    const { id } = await baton.admin.principals.create({ kind: 'service', displayName: 'It' });
    await baton.admin.principals.createIamBinding(id, {
      issuer,
      iamTenantId: tenantId,
      iamPrincipalId: account.principalId,
      permissions: ['tasks.read', 'task_types.read'],
    });
    const authProvider = new ClientCredentialsProvider({
      clientId: account.clientId,
      clientSecret: account.clientSecret,
      scope: 'control-plane:read',
      expectedIssuer: issuer,
    });
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${baton.url}/mcp`), { authProvider }));
    const { tools } = await client.listTools();
    assert.ok(tools.some(({ name }) => name === 'task_search'));
    await client.close();
  });
});
