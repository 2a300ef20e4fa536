import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Client,
  type OAuthClientInformationMixed,
  type OAuthClientProvider,
  type OAuthTokens,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import type { Page } from 'playwright-core';
import { untilTrue } from './browser.ts';

/**
 * An MCP client as people install it: it knows only the address of an MCP server, describes itself in a document at its
 * vendor's address, and receives the browser's redirect at a port of this machine.
 */
export interface OAuthClientProgram {
  /** Settings with which a Baton can read the document of the client's vendor. */
  readonly settings: Readonly<Record<string, string>>;
  /** Connects through a person's browser. @param decide what the person does on the page */
  connect(url: string, page: Page, decide: (page: Page) => Promise<void>): Promise<SignedInClient>;
  close(): Promise<void>;
}

export interface SignedInClient {
  readonly client: Client;
  readonly clientId: string;
  tokens(): OAuthTokens;
  call(name: string, args?: Record<string, unknown>): Promise<string>;
}

/** The reason why a document can't be served; false if it can. */
export const noOpenssl =
  spawnSync('openssl', ['version']).error === undefined ? false : 'openssl is not installed';

export async function startOAuthClient(name: string): Promise<OAuthClientProgram> {
  const folder = mkdtempSync(join(tmpdir(), 'baton-oauth-client-'));
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
  makeCertificate(key, certificate);
  let returned: URLSearchParams | undefined;
  const receiver = createServer((req, res) => {
    const { pathname, searchParams } = new URL(req.url ?? '/', 'http://client');
    if (pathname === '/callback') returned = searchParams;
    res.end('returned');
  });
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const callback = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/callback`;
  const described = {
    client_name: name,
    redirect_uris: [callback],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  };
  const vendor = createSecureServer(
    { key: readFileSync(key), cert: readFileSync(certificate) },
    (_req, res) =>
      res
        .setHeader('content-type', 'application/json')
        .end(JSON.stringify({ client_id: documentUrl, ...described })),
  );
  vendor.listen(0, '127.0.0.1');
  await once(vendor, 'listening');
  const host = `localhost:${(vendor.address() as AddressInfo).port}`;
  const documentUrl = `https://${host}/client.json`;

  function newProvider(
    page: Page,
  ): Omit<OAuthClientProvider, 'tokens'> & { tokens(): OAuthTokens | undefined } {
    let tokens: OAuthTokens | undefined;
    let known: OAuthClientInformationMixed | undefined;
    let verifier = '';
    return {
      redirectUrl: callback,
      clientMetadataUrl: documentUrl,
      clientMetadata: described,
      clientInformation: () => known,
      saveClientInformation: (given) => {
        known = given;
      },
      tokens: () => tokens,
      saveTokens: (made: OAuthTokens) => {
        tokens = made;
      },
      async redirectToAuthorization(address: URL) {
        returned = undefined;
        await page.goto(String(address));
      },
      saveCodeVerifier: (made: string) => {
        verifier = made;
      },
      codeVerifier: () => verifier,
    };
  }

  return {
    settings: { NODE_EXTRA_CA_CERTS: certificate, IAM_OUTBOUND_ALLOWED_HOSTS: JSON.stringify([host]) },
    async connect(url, page, decide) {
      const provider = newProvider(page);
      const newTransport = () => new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
      const newClient = () => new Client({ name, version: '1' }, { versionNegotiation: { mode: 'legacy' } });
      const first = newTransport();
      await assert.rejects(newClient().connect(first));
      await decide(page);
      await untilTrue(() => returned !== undefined, 'the browser does not return to the client');
      assert.equal(returned?.get('error'), null);
      await first.finishAuth(returned);
      const client = newClient();
      await client.connect(newTransport());
      return {
        client,
        clientId: documentUrl,
        tokens: () => provider.tokens() ?? assert.fail('there are no tokens'),
        async call(tool, args = {}) {
          const { content } = await client.callTool({ name: tool, arguments: args });
          return (content as { text?: string }[]).map(({ text = '' }) => text).join('\n');
        },
      };
    },
    async close() {
      for (const server of [receiver, vendor]) {
        server.closeAllConnections();
        server.close();
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function makeCertificate(key: string, certificate: string): void {
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-keyout', key, '-out', certificate];
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  const { status, stderr } = spawnSync('openssl', [
    'req',
    '-x509',
    '-nodes',
    '-days',
    '2',
    ...kind,
    ...names,
  ]);
  assert.equal(status, 0, String(stderr));
}

/** Signs the person in with a passkey, and allows the OAuth request. */
export async function allowByPasskey(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await page.getByRole('button', { name: 'Allow' }).click();
}
