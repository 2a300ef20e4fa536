import type { Answer, TestIdentity } from '../../../testing/identity.ts';
import { made } from '../../../testing/objects.ts';
import { resource, scope, sendTokenForm } from './browser.ts';

/** A machine without a browser (RFC 8628). */

export const deviceGrantType = 'urn:ietf:params:oauth:grant-type:device_code';

export function requestDevice(
  identity: TestIdentity,
  more: Record<string, string> = {},
  headers: Record<string, string> = {},
): Promise<Answer> {
  return identity.request('POST', '/oauth2/device-authorization', {
    body: new URLSearchParams({ client_id: 'baton-cli', scope, resource, ...more }).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  });
}

export async function newDevice(
  identity: TestIdentity,
  more: Record<string, string> = {},
): Promise<{ device_code: string; user_code: string; verification_uri_complete: string }> {
  return made(requestDevice(identity, more));
}

export const poll = (identity: TestIdentity, deviceCode: string, more: Record<string, string> = {}) =>
  sendTokenForm(identity, {
    grant_type: deviceGrantType,
    client_id: 'baton-cli',
    device_code: deviceCode,
    ...more,
  });
