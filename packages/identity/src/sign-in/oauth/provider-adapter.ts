import type { Adapter, AdapterPayload } from 'oidc-provider';
import { ConcurrencyLimit } from '@baton/kernel/limits/concurrency-limit';
import { clientOfAddress } from '@baton/kernel/listener/counted-address';
import { observer } from '@baton/kernel/process/observer';
import { secretHash } from '../../service/secrets.ts';
import { fail } from '../errors.ts';
import { findRegisteredClient } from './clients/oauth-clients.ts';
import { grantPayloadOf, revokeGrant } from './oauth-grants.ts';
import {
  deleteHandle,
  deleteHandlesOf,
  findHandle,
  insertDeviceCode,
  insertHandle,
  lockDeviceCodes,
} from './oauth-handles.sql.ts';
import { currentState, type HandleKind } from './provider/provider-state.ts';
import { grantOfFormerToken, prepareRedemption, repeatedSuccessor } from './redemption.ts';

export const pendingDeviceCodes = { ofOneMax: 20, max: 10_000 };
/**
 * Device codes are stored one at a time, so the others wait here, without a connection to the database. In front, each
 * address has a queue of its own, so that nobody can fill the common queue.
 */
const storingBounds = { runningMax: 1, waitMsMax: 5000 };
const storingOfOne = new ConcurrencyLimit('device codes of the address', { ...storingBounds, queuedMax: 30 });
const storing = new ConcurrencyLimit('device codes', { ...storingBounds, queuedMax: 1000 });

/**
 * The store of the provider library. Handles are looked up by their hashes and never stored; sessions, requests and
 * access tokens have no rows at all.
 */
export function adapterFor(model: string): Adapter {
  const adapter = adapters[model]?.() ?? unused(model);
  return {
    upsert: (id, payload, expiresIn) => storingFailure(() => adapter.upsert(id, payload, expiresIn)),
    find: (id) => storingFailure(() => adapter.find(id)),
    findByUserCode: (userCode) => storingFailure(() => adapter.findByUserCode(userCode)),
    findByUid: (uid) => storingFailure(() => adapter.findByUid(uid)),
    consume: (id) => storingFailure(() => adapter.consume(id)),
    destroy: (id) => storingFailure(() => adapter.destroy(id)),
    revokeByGrantId: (grantId) => storingFailure(() => adapter.revokeByGrantId(grantId)),
  };
}

const adapters: Readonly<Record<string, () => Adapter>> = {
  // People sign in for every request, so no session lasts beyond a request.
  Session: () => ({ ...nothing }),
  // Every token is Baton's own, signed for the response: see `prepareUse`.
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
    find: (handle) => findStored(kind, handle),
    consume: (handle) => prepareUse(kind, handle),
    async destroy(handle) {
      await pool().run(deleteHandle(kind, secretHash(handle)));
    },
    async revokeByGrantId(credentialId) {
      await pool().run(deleteHandlesOf(kind, credentialId));
    },
  };
}

async function findStored(kind: HandleKind, handle: string): Promise<AdapterPayload | undefined> {
  const state = currentState();
  const { context } = state;
  const row = await context.pool.row(findHandle(kind, secretHash(handle)));
  if (row === undefined) {
    const former = kind === 'RefreshToken' ? await grantOfFormerToken(context.pool, handle) : undefined;
    if (former !== undefined)
      state.formerToken = { credentialId: former.credential_id, clientId: former.client_id };
    return undefined;
  }
  const { credential_id: credentialId, grant_secret_hash: hash, consumed_seconds: consumed } = row;
  // The library revokes the grant of a consumed token, so a use that may be repeated must not be reported to it.
  const isRepeated =
    kind === 'RefreshToken' &&
    consumed !== null &&
    credentialId !== null &&
    hash !== null &&
    (await repeatedSuccessor(context, { credentialId, secretHash: hash }, handle)) !== undefined;
  const payload = { ...row.payload, jti: handle, ...(consumed !== null && !isRepeated && { consumed }) };
  state.found = payload;
  return payload;
}

async function storeHandle(
  kind: HandleKind,
  handle: string,
  { jti: _handle, userCode, ...payload }: AdapterPayload,
  lifetimeSeconds: number,
): Promise<void> {
  const { context, client, redemption } = currentState();
  const { pool } = context;
  // Stored together with the use of its predecessor, which also determines its text: see `completeRedemption`.
  if (kind === 'RefreshToken') {
    if (redemption === undefined) throw new Error('A refresh token was issued for no code.');
    redemption.issued = { payload, lifetimeSeconds };
    return;
  }
  observer()?.made(kind, handle);
  const handleHash = secretHash(handle);
  if (kind === 'DeviceCode') {
    const requestedBy = clientOfAddress(context.address);
    const insert = insertDeviceCode({
      handleHash,
      userCodeHash: secretHash(String(userCode)),
      requestedBy,
      payload: { ...payload, clientName: client?.name },
      lifetimeSeconds,
      pendingOfOneMax: pendingDeviceCodes.ofOneMax,
      pendingMax: pendingDeviceCodes.max,
    });
    const store = () =>
      pool.transaction(async (db) => {
        await db.run(lockDeviceCodes());
        return db.row(insert);
      });
    const made = await storingOfOne.run(requestedBy, () => storing.run('', store));
    if (made === undefined) fail('too_many_device_codes', {}, { headers: { 'retry-after': '60' } });
    return;
  }
  const credentialId = payload.grantId as string;
  await pool.run(insertHandle({ kind, handleHash, credentialId, payload, lifetimeSeconds }));
}

/**
 * Signs the access token for a code or a refresh token. The handle is used up only when the library has checked
 * everything else: see `completeRedemption`.
 */
async function prepareUse(kind: HandleKind, handle: string): Promise<void> {
  const state = currentState();
  const { context, found = {}, resource } = state;
  // Compared here, because the library would use up the handle before it compares them.
  if (resource !== undefined && resource !== found['resource']) fail('audience_not_allowed');
  // The refusal is returned to the device only once.
  if (found['error'] !== undefined) await context.pool.run(deleteHandle(kind, secretHash(handle)));
  else state.redemption = await prepareRedemption(context, kind, handle, state);
}

/** The library reports any error from Baton, including one from the database, as a server error. */
async function storingFailure<Value>(work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    currentState().failure ??= error;
    throw error;
  }
}
