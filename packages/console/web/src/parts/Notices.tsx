import { type ReactNode, useEffect, useSyncExternalStore } from 'react';
import styles from './notices.module.css';

interface Notice {
  readonly id: number;
  readonly content: ReactNode;
  /** Errors stay until they are closed. */
  readonly isBad: boolean;
}

const noticesMax = 3;
const goodMs = 6_000;

let notices: readonly Notice[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function change(next: readonly Notice[]): void {
  notices = next;
  for (const listener of listeners) listener();
}

/** Shows the result of an action above the current page. The newest three are shown, successes for six seconds. */
export function notify(content: ReactNode, { isBad = false } = {}): void {
  lastId += 1;
  change([...notices, { id: lastId, content, isBad }].slice(-noticesMax));
}

function close(id: number): void {
  change(notices.filter((notice) => notice.id !== id));
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The region in which notices appear and are announced by screen readers. */
export function Notices() {
  const shown = useSyncExternalStore(subscribe, () => notices);
  return (
    <div className={styles.notices} role="status" aria-label="Notifications">
      {shown.map((notice) => (
        <OneNotice key={notice.id} {...notice} />
      ))}
    </div>
  );
}

function OneNotice({ id, content, isBad }: Notice) {
  useEffect(() => {
    if (isBad) return;
    const timer = setTimeout(close, goodMs, id);
    return () => clearTimeout(timer);
  }, [id, isBad]);
  return (
    <div className={`card ${styles.notice} ${isBad ? styles.bad : ''}`}>
      <div className="stack text">{content}</div>
      <button type="button" onClick={() => close(id)}>
        Close
      </button>
    </div>
  );
}
