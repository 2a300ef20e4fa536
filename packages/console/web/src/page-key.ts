/** The key in local storage. */
const name = 'baton.console-key';
/** For a browser without local storage, where a reload signs the page out. */
let inMemory: string | undefined;

/**
 * The key of this origin, sent with every request to the console's own server. The session cookie alone is not
 * accepted, because browsers send it to every port of this host; no other port can read this storage. All tabs share
 * the key.
 */
export function pageKey(): string {
  const kept = read();
  if (kept !== null && /^[\w-]{43}$/.test(kept)) return kept;
  const key = newKey();
  try {
    localStorage.setItem(name, key);
  } catch {
    inMemory = key;
  }
  return key;
}

/** Deletes the key, so that the next session gets a new one. */
export function forgetPageKey(): void {
  inMemory = undefined;
  try {
    localStorage.removeItem(name);
  } catch {
    // Nothing was stored.
  }
}

function read(): string | null {
  try {
    return localStorage.getItem(name) ?? inMemory ?? null;
  } catch {
    return inMemory ?? null;
  }
}

/** 256 random bits in base64url. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace('=', '');
}
