import { requireAddress, requireOwnAccount } from '../access-tokens/service-tokens/own-account.ts';
import type { Settings } from '../settings.ts';

/** @throws Error with one sentence for decision point settings that would otherwise fail only later */
export function checkPolicySettings(settings: Settings): void {
  const { CP_AUTHZ_MODE: mode, CP_IAM_ISSUER: issuer } = settings;
  if (mode === 'local') return;
  const reason = `CP_AUTHZ_MODE ${mode}`;
  if (issuer === '') throw new Error(`${reason} needs CP_IAM_ISSUER and CP_IAM_JWKS_URL.`);
  requireAddress('CP_POLICY_BASE_URL', settings.CP_POLICY_BASE_URL);
  requireOwnAccount(settings, reason);
  if (settings.CP_POLICY_AUDIENCE === '' || settings.CP_POLICY_SCOPES.length === 0)
    throw new Error(`${reason} needs CP_POLICY_AUDIENCE and CP_POLICY_SCOPES.`);
}
