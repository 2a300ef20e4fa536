import assert from 'node:assert/strict';
import type { CDPSession, Page } from 'playwright-core';
import { createClient } from '@baton/sdk';
import type { RunningConsole } from './console.ts';

/** Chromium's virtual authenticator of one page, which verifies its user automatically. */
export interface Authenticator {
  readonly session: CDPSession;
  readonly authenticatorId: string;
  /** Returns how many passkeys the authenticator holds. */
  count(): Promise<number>;
  /** Sets whether the authenticator's user is present and verified from now on. */
  setVerified(isVerified: boolean): Promise<void>;
  /** Copies the authenticator's passkeys to another authenticator, as a password manager does. */
  syncTo(other: Authenticator): Promise<void>;
  clear(): Promise<void>;
}

/** Gives a page an authenticator of its own. */
export async function addAuthenticator(page: Page): Promise<Authenticator> {
  const session = await page.context().newCDPSession(page);
  await session.send('WebAuthn.enable', { enableUI: false });
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  const held = async () => (await session.send('WebAuthn.getCredentials', { authenticatorId })).credentials;
  return {
    session,
    authenticatorId,
    count: async () => (await held()).length,
    async setVerified(isUserVerified) {
      await session.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified });
    },
    async syncTo(other) {
      for (const credential of await held())
        await other.session.send('WebAuthn.addCredential', {
          authenticatorId: other.authenticatorId,
          credential,
        });
    },
    async clear() {
      await session.send('WebAuthn.clearCredentials', { authenticatorId });
    },
  };
}

/** The address of the console at which browsers accept passkeys. */
export const localUrl = (world: Pick<RunningConsole, 'url'>): string =>
  world.url.replace('127.0.0.1', 'localhost');

/** Browsers accept passkeys only at host names, not at IP addresses. */
export function onLocalhost(address: string): string {
  const url = new URL(address);
  url.hostname = 'localhost';
  return url.href;
}

/**
 * Creates a passkey through an invitation or recovery link, on a page of identity, so that no console needs to be
 * built.
 */
export async function createPasskeyByLink(page: Page, batonUrl: string, token: string): Promise<void> {
  await page.goto(onLocalhost(`${batonUrl}/iam/oauth2/device`));
  assert.equal(await page.evaluate(createPasskey, { token }), 200);
}

/** Runs in the page. */
async function createPasskey({ token }: { token: string }): Promise<number> {
  const post = (path: string, body: object) =>
    fetch(`/iam/api/v1${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const options = await post('/invitations:registration-options', { token });
  const { publicKey, state } = (await options.json()) as { publicKey: unknown; state: string };
  // biome-ignore lint/suspicious/noExplicitAny: the types of Node have no browser
  const { PublicKeyCredential, navigator } = globalThis as any;
  const parsed = PublicKeyCredential.parseCreationOptionsFromJSON(publicKey);
  const made = (await navigator.credentials.create({ publicKey: parsed })).toJSON();
  const { attestationObject, clientDataJSON, transports } = made.response;
  const credential = {
    id: made.id,
    rawId: made.rawId,
    type: made.type,
    response: { attestationObject, clientDataJSON, ...(transports && { transports }) },
  };
  const passkey = { state, credential, name: 'Laptop' };
  return (await post('/invitations:accept', { token, passkey })).status;
}

export interface Invited {
  /** The address that the person opens. */
  readonly link: string;
  readonly secret: string;
  readonly invitationId: string;
  /** In identity. */
  readonly iamPrincipalId: string;
  /** In coordination. */
  readonly principalId: string;
}

/** Invites a person as an administrator does: in coordination with a role, in identity with a link. */
export async function invitePerson(
  world: Pick<RunningConsole, 'baton' | 'tenantId' | 'issuer' | 'url' | 'adminSecret'>,
  displayName: string,
  { role = 'member', ...more }: { role?: string; invitedBy?: string; message?: string } = {},
): Promise<Invited> {
  const { baton, tenantId, issuer, url, adminSecret } = world;
  const { identity } = createClient({ url, adminSecret });
  const { token, invitation } = await identity.invitations.create(tenantId, { displayName, role, ...more });
  const { id: principalId } = await baton.principals.create({ kind: 'human', displayName });
  await baton.principals.createIamBinding(principalId, {
    issuer,
    iamTenantId: tenantId,
    iamPrincipalId: invitation.principalId,
    accessRole: role,
  });
  return {
    link: `${localUrl(world)}/invite#${token}`,
    secret: token,
    invitationId: invitation.id,
    iamPrincipalId: invitation.principalId,
    principalId,
  };
}
