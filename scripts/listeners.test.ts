import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { sourceFiles } from './sources.ts';

const root = dirname(import.meta.dirname);

/**
 * Files that may import the HTTP server: Baton's one listener, tests of its parts, fakes of other services' servers,
 * and two programs on loopback: the server of the built documentation site, which must start without Baton's packages,
 * and the receiver of `baton login`, which takes one response of a browser within ten minutes (RFC 8252).
 */
const allowed = [
  'e2e/agents.test.ts',
  'e2e/browser-sign-in.test.ts',
  'e2e/chaos/webhook-receiver.ts',
  'e2e/console/provider-sign-in.test.ts',
  'e2e/console/security.test.ts',
  'e2e/console/system.test.ts',
  'e2e/documentation.test.ts',
  'e2e/doors/github-actions.test.ts',
  'e2e/lease-guard.test.ts',
  'e2e/testing/oauth-client.ts',
  'packages/cli/src/apply/testing/intercepted-baton.ts',
  'packages/cli/src/certificate-error.test.ts',
  'packages/cli/src/commands.test.ts',
  'packages/cli/src/foreign-connection.test.ts',
  'packages/cli/src/operations/adapter/adapter.test.ts',
  'packages/cli/src/operations/operations.test.ts',
  'packages/cli/src/operations/outbox/outbox.test.ts',
  'packages/cli/src/program.test.ts',
  'packages/cli/src/result-form.test.ts',
  'packages/cli/src/sign-in/browser-sign-in.ts',
  'packages/cli/src/sign-in/sign-in.test.ts',
  'packages/cli/src/workload/workload-identity.test.ts',
  'packages/cli/src/workload/workload-presets.test.ts',
  'packages/coordination/src/access/access-tokens/algorithms.test.ts',
  'packages/coordination/src/access/access-tokens/jwks.test.ts',
  'packages/coordination/src/access/access-tokens/service-tokens/service-tokens.test.ts',
  'packages/coordination/src/access/access-tokens/tokens.test.ts',
  'packages/coordination/src/memory/adapter/delivery.test.ts',
  'packages/coordination/src/memory/knowledge/liveness.long.test.ts',
  'packages/coordination/src/results/contents/stores.test.ts',
  'packages/coordination/src/testing/access/identity-service.ts',
  'packages/coordination/src/testing/access/licence-service.ts',
  'packages/coordination/src/testing/access/policy-service.ts',
  'packages/coordination/src/testing/access/secret-store.ts',
  'packages/coordination/src/testing/issuer.ts',
  'packages/coordination/src/testing/ledger/sinks.ts',
  'packages/coordination/src/testing/memory/memory-service.ts',
  'packages/coordination/src/testing/registry/oauth-provider.ts',
  'packages/demo/src/organisation/demo-memory.ts',
  'packages/identity/src/provisioning/upstream-directory/testing/keycloak.ts',
  'packages/identity/src/sign-in/federation/testing/oidc-upstream.ts',
  'packages/identity/src/sign-in/federation/testing/upstream.ts',
  'packages/identity/src/sign-in/identity-providers/provider-keys.test.ts',
  'packages/identity/src/sign-in/oauth/provider/metadata-documents.test.ts',
  'packages/identity/src/sign-in/oauth/workspaces/reached-workspaces.test.ts',
  'packages/identity/src/sign-in/provider-tests/provider-tests.test.ts',
  'packages/identity/src/sign-in/upstream-token/bad-keys.test.ts',
  'packages/identity/src/testing/oidc-people.main.ts',
  'packages/identity/src/testing/oidc-provider.main.ts',
  'packages/kernel/src/listener/byte-stream.test.ts',
  'packages/kernel/src/listener/listener.ts',
  'packages/kernel/src/outbound/outbound.test.ts',
  'packages/mcp/src/extensions.test.ts',
  'packages/mcp/src/http/endpoint.test.ts',
  'packages/platform/src/console-service/console-service.test.ts',
  'packages/platform/src/console-service/provider-sign-in.test.ts',
  'packages/platform/src/first-install.test.ts',
  'packages/platform/src/localhost-twin.test.ts',
  'packages/sdk/src/testing/stub-service.ts',
  'packages/sdk/src/workload-identity.test.ts',
  'scripts/docs/site-server.ts',
  'scripts/test-run.test.ts',
];

/** Returns whether a file imports the HTTP server, by its name or with the whole module. */
function makesServers(text: string): boolean {
  const imports = text.matchAll(/import\s([^;]*?)\sfrom 'node:(?:http|https|http2)'/g);
  const hasImport = [...imports].some(([, what = '']) => {
    if (what.startsWith('type ')) return false;
    return /\bcreate(Secure)?Server\b|(?<!type )\bServer\b/.test(what) || !what.startsWith('{');
  });
  return hasImport && /\bcreate(Secure)?Server\(|\bnew (\w+\.)?Server\(|\bcreateServer as\b/.test(text);
}

test('programs and tests serve HTTP through the one listener with bounds', () => {
  const found = sourceFiles(root)
    .filter((file) => file !== 'scripts/listeners.test.ts' && file !== 'scripts/layers.test.ts')
    .filter((file) => makesServers(readFileSync(join(root, file), 'utf8')));
  assert.deepEqual(
    found,
    allowed,
    'serve through createListener of kernel/listener/listener.ts; add the fake of a foreign server to this list',
  );
});

test("an HTTP server is detected under any name; another module's and a client are not", () => {
  const seen = [
    "import { createServer } from 'node:http';\ncreateServer();",
    "import { request, createServer as make } from 'node:http';\nmake();",
    "import http from 'node:http';\nhttp.createServer();",
    "import * as http2 from 'node:http2';\nhttp2.createSecureServer({});",
    "import { Server } from 'node:http';\nnew Server();",
  ];
  for (const text of seen) assert.equal(makesServers(text), true, text);
  const others = [
    "import { request, type Server } from 'node:http';\nrequest('');",
    "import type { Server } from 'node:http';\nimport { createServer } from 'node:net';\ncreateServer();",
    "import http from 'node:http';\nhttp.request('');",
  ];
  for (const text of others) assert.equal(makesServers(text), false, text);
});
