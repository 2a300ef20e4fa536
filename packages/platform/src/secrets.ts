import { createHash, createPrivateKey, createPublicKey, generateKeyPair, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import type { Home } from './home.ts';
import { readPrivateFile, writePrivateFile } from './private-files.ts';

/** The secrets that the first start generates and later starts read. */
export interface Secrets {
  readonly iamBootstrapToken: string;
  readonly cpBootstrapToken: string;
  /** Path of the RSA key that signs access tokens. */
  readonly signingKeyFile: string;
  /** The key's thumbprint (RFC 7638): it changes only with the key. */
  readonly signingKeyId: string;
  /** Path of the key that seals the audit log. */
  readonly auditKeyFile: string;
  /** Path of the keys that seal the secrets of agents and connections. */
  readonly sealingKeyFile: string;
  /** Path of the credential with which coordination gets administration tokens from identity. */
  readonly delegationCredentialFile: string;
}

const signingKeyBits = 3072;

/** Generates missing secrets. Each file is written atomically and readable by its owner only. */
export async function ensureSecrets(home: Home): Promise<Secrets> {
  const signingKeyFile = home.path('secrets', 'signing-key.pem');
  const auditKeyFile = home.path('secrets', 'audit-key');
  const sealingKeyFile = home.path('secrets', 'secret-store-keys');
  ensureToken(auditKeyFile);
  const delegationCredentialFile = home.path('secrets', 'delegation-credential');
  ensureToken(sealingKeyFile);
  ensureToken(delegationCredentialFile);
  return {
    iamBootstrapToken: ensureToken(home.path('secrets', 'iam-bootstrap-token')),
    cpBootstrapToken: ensureToken(home.path('secrets', 'cp-bootstrap-token')),
    signingKeyFile,
    signingKeyId: thumbprint(readPrivateFile(signingKeyFile) ?? (await makeSigningKey(signingKeyFile))),
    auditKeyFile,
    sealingKeyFile,
    delegationCredentialFile,
  };
}

function ensureToken(path: string): string {
  const found = readPrivateFile(path);
  if (found !== undefined) return found.trim();
  const made = randomBytes(32).toString('base64url');
  writePrivateFile(path, `${made}\n`);
  return made;
}

async function makeSigningKey(path: string): Promise<string> {
  const { privateKey } = await promisify(generateKeyPair)('rsa', {
    modulusLength: signingKeyBits,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  writePrivateFile(path, privateKey);
  return privateKey;
}

function thumbprint(pem: string): string {
  const { e, kty, n } = createPublicKey(createPrivateKey(pem)).export({ format: 'jwk' });
  return createHash('sha256').update(JSON.stringify({ e, kty, n })).digest('base64url').slice(0, 22);
}
