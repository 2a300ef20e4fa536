import type { Adapter, AdapterPayload } from 'oidc-provider';
import { clientOfAddress } from '@baton/kernel/listener/counted-address';
import { observer } from '@baton/kernel/process/observer';
import { secretHash } from '../../service/secrets.ts';
import { fail } from '../errors.ts';
import { findRegisteredClient } from './clients/oauth-clients.ts';
import { exchangeLiveGrant, grantPayloadOf, revokeGrant } from './oauth-grants.ts';
import {
  deleteHandle,
  deleteHandlesOf,
  deleteOldRefreshTokens,
  findHandle,
  type HandleKind,
  insertDeviceCode,
  insertHandle,
  updateConsumed,
} from './oauth-handles.sql.ts';
import { currentState } from './provider/provider-state.ts';

/**
 * How many used refresh tokens of a grant are recognized when they are used again; a new one is made every few minutes.
 */
const usedRefreshTokensMax = 50;
export const pendingDeviceCodes = { ofOneMax: 20, max: 10_000 };

/**
 * The store of the provider library. Handles are looked up by their hashes and never stored; sessions, requests and
 * access tokens have no rows at all.
 */
export function adapterFor(model: string): Adapter {
  const make = adapters[model];
  return make === undefined ? unused(model) : make();
}

const adapters: Readonly<Record<string, () => Adapter>> = {
  // People sign in for every request, so no session lasts beyond a request.
  Session: () => ({ ...nothing }),
  // Every token is Baton's own, signed for the response: see `consume` below.
  AccessToken: () => ({ ...nothing }),
  Interaction: () => ({
    ...nothing,
    async upsert(uid, payload) {
      currentState().interaction = { uid, payload: { ...payload } };
    },
    async find(uid) {
      const { interaction } = currentState();
      return interaction?.uid === uid ? interaction.payload : undefined;
    },
  }),
  Client: () => ({
    ...nothing,
    find: (clientId) => findRegisteredClient(currentState().context.pool, clientId),
  }),
  Grant: () => ({
    ...nothing,
    find: (credentialId) => grantPayloadOf(currentState().context.pool, credentialId),
    // The library calls this when a code or a refresh token is used twice.
    destroy: (credentialId) => revokeGrant(currentState().context, credentialId, 'handle_reused'),
  }),
  AuthorizationCode: () => handles('AuthorizationCode'),
  RefreshToken: () => handles('RefreshToken'),
  DeviceCode: () => handles('DeviceCode'),
};

const nothing: Adapter = {
  upsert: async () => undefined,
  find: async () => undefined,
  findByUserCode: async () => undefined,
  findByUid: async () => undefined,
  consume: async () => undefined,
  destroy: async () => undefined,
  revokeByGrantId: async () => undefined,
};

function unused(model: string): Adapter {
  const refuse = () => Promise.reject(new Error(`The provider library stored a ${model}.`));
  return { ...nothing, upsert: refuse };
}

function handles(kind: HandleKind): Adapter {
  const pool = () => currentState().context.pool;
  return {
    ...nothing,
    upsert: (handle, payload, expiresIn) => storeHandle(kind, handle, payload, expiresIn ?? 0),
    async find(handle) {
      const row = await pool().row(findHandle(kind, secretHash(handle)));
      if (row === undefined) return undefined;
      const consumed = row.consumed_seconds;
      const payload = { ...row.payload, jti: handle, ...(consumed !== null && { consumed }) };
      currentState().found = payload;
      return payload;
    },
    consume: (handle) => storingFailure(() => consumeHandle(kind, handle)),
    async destroy(handle) {
      await pool().run(deleteHandle(kind, secretHash(handle)));
    },
    async revokeByGrantId(credentialId) {
      await pool().run(deleteHandlesOf(kind, credentialId));
    },
  };
}

async function storeHandle(
  kind: HandleKind,
  handle: string,
  { jti: _handle, userCode, ...payload }: AdapterPayload,
  lifetimeSeconds: number,
): Promise<void> {
  const { context, client } = currentState();
  const { pool } = context;
  observer()?.made(kind, handle);
  const handleHash = secretHash(handle);
  if (kind === 'DeviceCode') {
    const made = await pool.row(
      insertDeviceCode({
        handleHash,
        userCodeHash: secretHash(String(userCode)),
        requestedBy: clientOfAddress(context.address),
        payload: { ...payload, clientName: client?.name },
        lifetimeSeconds,
        pendingOfOneMax: pendingDeviceCodes.ofOneMax,
        pendingMax: pendingDeviceCodes.max,
      }),
    );
    if (made === undefined)
      await storingFailure(async () =>
        fail('too_many_device_codes', {}, { headers: { 'retry-after': '60' } }),
      );
    return;
  }
  const credentialId = payload.grantId as string;
  await pool.run(insertHandle({ kind, handleHash, credentialId, payload, lifetimeSeconds }));
  if (kind === 'RefreshToken') await pool.run(deleteOldRefreshTokens(credentialId, usedRefreshTokensMax));
}

/**
 * Uses up a code or a refresh token. The access token is signed first, so that nobody loses the code to a full signing
 * queue; the token is dropped if a concurrent request has used the handle in the meantime, which revokes the grant like
 * every second use.
 */
async function consumeHandle(kind: HandleKind, handle: string): Promise<void> {
  const state = currentState();
  const { context, found = {}, scopes, resource } = state;
  // Compared here, because the library would use up the handle before it compares them.
  if (resource !== undefined && resource !== found['resource']) fail('audience_not_allowed');
  const isGranted = found['error'] === undefined;
  const minted = isGranted ? await exchangeLiveGrant(context, found, scopes) : undefined;
  if ((await context.pool.row(updateConsumed(kind, secretHash(handle)))) === undefined) {
    await revokeGrant(context, String(found['grantId']), 'handle_reused');
    fail('invalid_grant', {}, { reason: 'used at the same time' });
  }
  if (minted !== undefined) state.minted = minted;
}

/** The library reports any error of ours as a server error. */
async function storingFailure(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    currentState().failure = error;
    throw error;
  }
}
