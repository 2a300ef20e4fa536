import type { Settings } from '../../settings.ts';

type AccountSettings = Pick<Settings, 'CP_IAM_BASE_URL' | 'CP_IAM_CLIENT_ID' | 'CP_IAM_CLIENT_SECRET'>;

/**
 * Refuses settings with which this service's own account can't get a token.
 * @param needing the feature that requires a token, as the beginning of the sentence
 * @throws Error with one sentence
 */
export function requireOwnAccount(settings: AccountSettings, needing: string): void {
  requireAddress('CP_IAM_BASE_URL', settings.CP_IAM_BASE_URL);
  if (settings.CP_IAM_CLIENT_ID === '' || settings.CP_IAM_CLIENT_SECRET === undefined)
    throw new Error(`${needing} needs CP_IAM_CLIENT_ID and CP_IAM_CLIENT_SECRET.`);
}

/** @throws Error with one sentence for an invalid address */
export function requireAddress(setting: string, address: string): void {
  const { protocol, username, password, search, hash } = URL.canParse(address)
    ? new URL(address)
    : new URL('none:');
  if (!/^https?:$/.test(protocol) || `${username}${password}${search}${hash}` !== '')
    throw new Error(`${setting} must be an http or https address without a user and without a query.`);
}
