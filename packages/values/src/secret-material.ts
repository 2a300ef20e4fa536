/**
 * The definition of secret material (docs/reference/README.md#secrets): names of keys, and patterns of text.
 */

/** Parts of key names that indicate a secret. Names are compared in lower case, without `-` and `_`. */
const secretNameParts = [
  'password',
  'passwd',
  'secret',
  'token',
  'apikey',
  'privatekey',
  'credential',
  'authorization',
];
/** The name of a key whose value is an opaque reference to a secret, such as `vault:1`. */
const referenceName = 'secretref';

/** Whether a key is named like a secret, in any spelling: `apiKey`, `API-KEY`, `x_api_key`. */
export function isSecretName(key: string): boolean {
  const name = key.toLowerCase().replaceAll(/[-_]/g, '');
  return name !== referenceName && secretNameParts.some((part) => name.includes(part));
}

interface SecretPattern {
  /** The kind of secret, which a refusal reports in `match`. */
  readonly kind: string;
  readonly pattern: RegExp;
}

/**
 * Secrets as they occur in prose; the first pattern that matches determines the kind. A pattern that repeats its own
 * alphabet matches only at the start of a sequence of such characters, so that a long hostile text is scanned once and
 * not once per position: 64 KiB take less than 50 ms (documents.test.ts).
 */
const secretPatterns: readonly SecretPattern[] = [
  {
    // -----BEGIN RSA PRIVATE KEY----- … to its END line; without one, the rest of the text counts as the key.
    kind: 'private_key',
    pattern:
      /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?:[^]*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|[^]*)/,
  },
  {
    // sk-… or rk-…: keys of model and payment providers
    kind: 'provider_key',
    pattern: /(?<![A-Za-z0-9_-])[sr]k-[A-Za-z0-9_-]{16,}/,
  },
  {
    // ghp_…, gho_…, ghs_…
    kind: 'github_token',
    pattern: /(?<![A-Za-z0-9_])gh[a-z]_[A-Za-z0-9_]{16,}/,
  },
  {
    // xoxb-…, xoxp-…
    kind: 'slack_token',
    pattern: /(?<![A-Za-z0-9_-])xox[a-z]-[A-Za-z0-9-]{10,}/,
  },
  {
    // AKIA and 16 capital letters or digits
    kind: 'aws_access_key',
    pattern: /(?<![A-Za-z0-9_])AKIA[A-Z0-9]{16,}/,
  },
  {
    // AIza…
    kind: 'google_api_key',
    pattern: /(?<![A-Za-z0-9_-])AIza[A-Za-z0-9_-]{20,}/,
  },
  {
    // eyJ….….…: header, payload and signature in base64url
    kind: 'jwt',
    pattern: /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}/,
  },
  {
    // iam_pat_<prefix>_…, iam_ses_…, iam_inv_…, iam_adm_… or cp_<prefix>_…: Baton's own
    kind: 'baton_token',
    pattern: /(?<![A-Za-z0-9_-])(?:iam_pat|iam_ses|iam_inv|iam_adm|cp)_[A-Za-z0-9]{12}_[A-Za-z0-9_-]{16,}/,
  },
  {
    // Bearer … with 20 characters or more
    kind: 'bearer_token',
    pattern: /(?<![A-Za-z0-9_-])bearer[ \t]{1,8}[A-Za-z0-9._~+/=-]{20,}/i,
  },
  {
    // password: … or "apiKey"="…" with 16 characters or more
    kind: 'secret_assignment',
    pattern:
      /(?:password|passwd|secret|token|api[_-]?key|private[_-]?key|credential|authorization)["']?[ \t]{0,8}[:=][ \t]{0,8}["']?[^\s"']{16,}/i,
  },
];

/** The kind of the first secret that the text contains, or undefined. */
export function kindOfSecret(text: string): string | undefined {
  return secretPatterns.find(({ pattern }) => pattern.test(text))?.kind;
}

const everyOccurrence = secretPatterns.map(({ pattern }) => new RegExp(pattern, `${pattern.flags}g`));

/** The text with everything that resembles a secret replaced by `[redacted]`. */
export function redactSecrets(text: string): string {
  return everyOccurrence.reduce((redacted, pattern) => redacted.replaceAll(pattern, '[redacted]'), text);
}
