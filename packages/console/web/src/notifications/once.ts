/** The record of all tabs, in local storage, which only the holder of the lock reads and writes. */
const recordName = 'baton.notices';
/** Each visible tab holds this lock, in shared mode. */
const visibleName = 'baton.visible';
const recordMax = 200;

/** After this many in a minute, a single notification represents all further ones. */
const shownMax = 5;
const shownMs = 60_000;

interface Recorded {
  readonly key: string;
  readonly atMs: number;
}

/**
 * Decides whether to notify the person: once for each key, in all tabs of this browser together.
 * @returns `no` also while any tab is visible: the person sees it there
 */
export async function claimNotice(key: string, nowMs = Date.now()): Promise<'no' | 'show' | 'summarize'> {
  return navigator.locks.request(recordName, async () => {
    const recorded = readRecord();
    if (recorded.some((one) => one.key === key)) return 'no';
    writeRecord([...recorded, { key, atMs: nowMs }].slice(-recordMax));
    if (await isAnyTabVisible()) return 'no';
    const isMany = recorded.filter(({ atMs }) => atMs > nowMs - shownMs).length >= shownMax;
    return isMany ? 'summarize' : 'show';
  });
}

async function isAnyTabVisible(): Promise<boolean> {
  return navigator.locks.request(visibleName, { ifAvailable: true }, (lock) => lock === null);
}

/** Lets the other tabs see when this one is visible. @returns a function that stops this */
export function announceVisible(): () => void {
  let release: (() => void) | undefined;
  const follow = () => {
    release?.();
    release = undefined;
    if (document.hidden) return;
    const isOver = new Promise<void>((resolve) => {
      release = resolve;
    });
    void navigator.locks.request(visibleName, { mode: 'shared' }, () => isOver);
  };
  follow();
  document.addEventListener('visibilitychange', follow);
  return () => {
    document.removeEventListener('visibilitychange', follow);
    release?.();
  };
}

function readRecord(): readonly Recorded[] {
  try {
    const stored = JSON.parse(localStorage.getItem(recordName) ?? '[]') as unknown;
    return Array.isArray(stored) ? stored.filter(isRecorded) : [];
  } catch {
    return [];
  }
}

function isRecorded(one: unknown): one is Recorded {
  if (typeof one !== 'object' || one === null) return false;
  return typeof Reflect.get(one, 'key') === 'string' && typeof Reflect.get(one, 'atMs') === 'number';
}

function writeRecord(recorded: readonly Recorded[]): void {
  localStorage.setItem(recordName, JSON.stringify(recorded));
}
