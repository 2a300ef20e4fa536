import { generateKeyPairSync, sign, verify } from 'node:crypto';

/** The names in an assertion before its signature is verified: useful only for finding its provider. */
export interface NamesInAssertion {
  /** Without trailing slashes, as providers store it. */
  readonly issuer: string;
  readonly audiences: readonly string[];
}

const issuerLengthMax = 500;
const audiencesMax = 20;
const audienceLengthMax = 200;

/** Undefined for a string that can't be an assertion. */
export function readNamesIn(assertion: string): NamesInAssertion | undefined {
  const { iss, aud } = readPayload(assertion) ?? {};
  if (typeof iss !== 'string' || !isName(iss, issuerLengthMax)) return undefined;
  const audiences = [aud].flat();
  const areNames = audiences.every((one) => typeof one === 'string' && isName(one, audienceLengthMax));
  if (audiences.length > audiencesMax || !areNames) return undefined;
  return { issuer: iss.replace(/\/+$/, ''), audiences: audiences as string[] };
}

/** PostgreSQL stores neither NUL nor half a surrogate pair. */
function isName(text: string, lengthMax: number): boolean {
  return text !== '' && [...text].length <= lengthMax && !text.includes('\0') && text.isWellFormed();
}

function readPayload(assertion: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const [, payload = ''] = assertion.split('.', 2);
    const value: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const anySignature = sign('sha256', Buffer.from('decoy'), privateKey);

/** Takes as long as a wrong signature does, so that the time doesn't reveal which issuers are registered. */
export function decoyVerification(assertion: string): void {
  verify('sha256', Buffer.from(assertion), publicKey, anySignature);
}
