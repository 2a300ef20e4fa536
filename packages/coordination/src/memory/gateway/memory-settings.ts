import { requireAddress, requireOwnAccount } from '../../access/access-tokens/service-tokens/own-account.ts';
import type { Settings } from '../settings.ts';

/** `auto` selects the key if set, otherwise a token if a client is configured, otherwise none. */
export function authKindOf(settings: Settings): 'api_key' | 'iam' | 'none' {
  const { CP_CONTEXT_AUTH: kind, CP_CONTEXT_API_KEY: key, CP_IAM_CLIENT_ID: clientId } = settings;
  if (kind !== 'auto') return kind;
  if (key !== undefined) return 'api_key';
  return clientId === '' ? 'none' : 'iam';
}

/**
 * @throws Error with a one-sentence message, for memory settings that would otherwise fail later
 */
export function checkMemorySettings(settings: Settings): void {
  if (settings.CP_CONTEXT_DEFAULT_MAX_TOKENS > settings.CP_CONTEXT_MAX_TOKENS_LIMIT)
    throw new Error('CP_CONTEXT_DEFAULT_MAX_TOKENS must not exceed CP_CONTEXT_MAX_TOKENS_LIMIT.');
  if (settings.CP_CONTEXT_PROVIDER === 'none') return;
  requireAddress('CP_CONTEXT_BASE_URL', settings.CP_CONTEXT_BASE_URL);
  const kind = authKindOf(settings);
  const key = settings.CP_CONTEXT_API_KEY;
  if (kind === 'api_key' && (key === undefined || !/^[\x21-\x7e]+$/.test(key)))
    throw new Error('CP_CONTEXT_AUTH api_key requires CP_CONTEXT_API_KEY, without blanks.');
  if (kind !== 'iam') return;
  requireOwnAccount(settings, 'CP_CONTEXT_AUTH iam');
}
