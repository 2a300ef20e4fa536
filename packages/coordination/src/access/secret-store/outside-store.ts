import { z } from 'zod';
import { ConcurrencyLimit } from '@baton/kernel/limits/concurrency-limit';
import { type JsonAnswer, RequestFailed, requestJson } from '@baton/kernel/outbound/json-request';
import { fail } from '../errors.ts';
import type { Settings } from '../settings.ts';
import { pathOfSecret, SecretExists, type SecretName, type SecretStore } from './secret-store.ts';

/** Enough for a value of 65,536 characters, which has at most six times as many bytes in JSON. */
const answerBytesMax = 1_048_576;
/** Concurrent requests in this process; each uses a socket. */
const requestBounds = { runningMax: 64, queuedMax: 256, waitMsMax: 2000 };

const ReadAnswer = z.object({ data: z.object({ data: z.object({ value: z.string() }) }) });
const RefusedAnswer = z.object({ errors: z.array(z.string()) });

/**
 * A store with the KV version 2 API of Vault and OpenBao: `POST` and `GET /v1/<mount>/data/<path>`, and `DELETE
 * /v1/<mount>/metadata/<path>`, which also deletes old versions. A secret is `{value}`. Redirects of a standby server
 * are not followed: the address is that of the active server or of a load balancer.
 */
export function createOutsideStore(settings: Settings): SecretStore {
  const {
    CP_SECRET_STORE_URL: url,
    CP_SECRET_STORE_TOKEN: token = '',
    CP_SECRET_STORE_MOUNT: mount,
  } = settings;
  const base = `${url.replace(/\/+$/, '')}/v1/${mount}`;
  const limit = new ConcurrencyLimit('requests to the secret store', requestBounds);

  async function ask(
    method: 'GET' | 'POST' | 'DELETE',
    kind: 'data' | 'metadata',
    secret: SecretName,
    body?: object,
  ): Promise<JsonAnswer> {
    const address = `${base}/${kind}/${pathOfSecret(secret)}`;
    try {
      return await limit.run('', () =>
        requestJson(address, {
          method,
          headers: { 'x-vault-token': token, 'x-vault-request': 'true' },
          ...(body !== undefined && { body }),
          timeoutMs: settings.CP_SECRET_STORE_TIMEOUT_SECONDS * 1000,
          answerBytesMax,
        }),
      );
    } catch (error) {
      if (!(error instanceof RequestFailed)) throw error;
      return away(error.message, error);
    }
  }

  async function read(secret: SecretName): Promise<string | undefined> {
    const { status, json } = await ask('GET', 'data', secret);
    if (status === 404) return undefined;
    const answer = ReadAnswer.safeParse(json);
    return status === 200 && answer.success
      ? answer.data.data.data.value
      : away(`a read failed with status ${status}`);
  }

  return {
    kind: 'outside',
    async put(secret, value, { onlyNew = false } = {}) {
      const body = { ...(onlyNew && { options: { cas: 0 } }), data: { value } };
      const { status, json } = await ask('POST', 'data', secret, body);
      if (onlyNew && status === 400 && isTaken(json)) throw new SecretExists();
      if (status !== 200 && status !== 204) away(`a write failed with status ${status}`);
      return { secret, row: 'nothing', onlyNew };
    },
    async delete(secret) {
      const { status } = await ask('DELETE', 'metadata', secret);
      if (status !== 204 && status !== 404) away(`a deletion failed with status ${status}`);
      return { secret, row: 'nothing', onlyNew: false };
    },
    apply: () => Promise.resolve(),
    get: (_, secret) => read(secret),
    exists: async (_, secret) => (await read(secret)) !== undefined,
  };
}

/** Whether the secret already exists: the store reports this only in the text of its message. */
function isTaken(json: unknown): boolean {
  const refused = RefusedAnswer.safeParse(json);
  return refused.success && refused.data.errors.some((text) => text.includes('check-and-set'));
}

/** @param reason must not contain an address, a header or a body */
function away(reason: string, cause?: unknown): never {
  return fail(
    'secret_store_unavailable',
    {},
    { reason: `the secret store: ${reason}`, cause, headers: { 'retry-after': '1' } },
  );
}
