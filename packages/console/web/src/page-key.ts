/** Also the name of what the browser keeps. */
const name = 'baton.console-key';
/** For a browser that keeps nothing: such a page is signed out when it is loaded again. */
let inMemory: string | undefined;

/**
 * The key of this origin, which goes with every request to the console's own server. The session's cookie alone opens
 * nothing, because browsers send it to every port of this host; no other port reads this storage. All tabs share the key.
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

/** The next session has another key. */
export function forgetPageKey(): void {
  inMemory = undefined;
  try {
    localStorage.removeItem(name);
  } catch {
    // Nothing was kept.
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
