import { createHmac } from 'node:crypto';

/** The length of a secret in bytes, according to Standard Webhooks. */
const secretBytes = { min: 24, max: 64 };
const secretForm = /^(?:whsec_)?([A-Za-z0-9+/]+={0,2})$/;

/**
 * Parses a webhook secret: base64, with or without the prefix `whsec_`.
 * @returns undefined for anything else, and for fewer than 24 or more than 64 bytes
 */
export function parseWebhookSecret(text: string): Buffer | undefined {
  const [, encoded] = secretForm.exec(text.trim()) ?? [];
  const secret = Buffer.from(encoded ?? '', 'base64');
  return secret.length >= secretBytes.min && secret.length <= secretBytes.max ? secret : undefined;
}

/**
 * The headers that authenticate the sender (Standard Webhooks 1.0.0): one `v1` signature per secret, so that a secret
 * can be rotated without a gap.
 */
export function signatureHeaders(
  { id, body, atSeconds }: { id: string; body: string; atSeconds: number },
  secrets: readonly Buffer[],
): Record<string, string> {
  const signatures = secrets.map(
    (secret) => `v1,${createHmac('sha256', secret).update(`${id}.${atSeconds}.${body}`).digest('base64')}`,
  );
  return {
    'webhook-id': id,
    'webhook-timestamp': String(atSeconds),
    'webhook-signature': signatures.join(' '),
  };
}
