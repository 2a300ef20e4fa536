import {
  type JsonAnswer,
  type JsonRequest,
  RequestFailed,
  requestJson,
} from '@baton/kernel/outbound/json-request';
import { createServiceTokens } from '../../access/access-tokens/service-tokens/service-tokens.ts';
import type { Settings } from '../settings.ts';
import { authKindOf } from './memory-settings.ts';

export type WireRequest = Omit<JsonRequest, 'headers'> & {
  /** Identifies the calls to the memory service (`X-Run-Id`). */
  readonly traceRunId: string;
};

/** Requests to the memory service with its credential. See docs/reference/memory.md#memory-service. */
export interface MemoryWire {
  /**
   * @param path from the root of the service: `/api/memory/context`
   * @throws RequestFailed if no response arrives, or no token is available for the request
   */
  request(
    path: string,
    request: WireRequest,
  ): Promise<JsonAnswer & { readonly credential: string | undefined }>;
}

/** No token was issued; the message contains identity's response, without any secrets. */
export class NoToken extends RequestFailed {}

interface Credential {
  /** Undefined if the memory service requires none. */
  get(): Promise<string | undefined>;
  forget(token: string): void;
}

export function openWire(settings: Settings): MemoryWire {
  const baseUrl = settings.CP_CONTEXT_BASE_URL.replace(/\/+$/, '');
  const credential = credentialOf(settings);
  return {
    async request(path, { traceRunId, ...request }) {
      const token = await credential.get().catch((cause: Error) => {
        throw new NoToken(`no token of identity: ${cause.message}`, { cause });
      });
      const answer = await requestJson(`${baseUrl}${path}`, {
        ...request,
        headers: {
          'x-run-id': traceRunId,
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
        },
      });
      if (answer.status === 401 && token !== undefined) credential.forget(token);
      return { ...answer, credential: token };
    },
  };
}

function credentialOf(settings: Settings): Credential {
  const kind = authKindOf(settings);
  const key = settings.CP_CONTEXT_API_KEY;
  if (kind !== 'iam') return { get: () => Promise.resolve(key), forget: () => undefined };
  return createServiceTokens(settings, {
    audience: settings.CP_CONTEXT_IAM_AUDIENCE,
    scopes: scopesOf(settings),
  });
}

/**
 * With a decision point, the memory service requests decisions about the person for whom a call is made. See
 * docs/configuration.md.
 */
function scopesOf({ CP_AUTHZ_MODE: mode, CP_CONTEXT_IAM_SCOPES: scopes }: Settings): readonly string[] {
  const onBehalf = 'memory:on-behalf';
  return mode === 'policy' && !scopes.includes(onBehalf) ? [...scopes, onBehalf] : scopes;
}
