import { revealHidden } from '@baton/sdk';
import styles from './values.module.css';

const charactersMax = 4_000;

interface ValuesProps {
  readonly of: Record<string, unknown>;
  /** Shows values of any length in full. */
  readonly isWhole?: boolean;
}

/** The members of an object, one per line; anything but text as JSON. */
export function Values({ of, isWhole = false }: ValuesProps) {
  const members = Object.entries(of).filter(
    ([, value]) => value !== null && value !== undefined && value !== '',
  );
  if (members.length === 0) return <p className="soft">No values.</p>;
  return (
    <dl className={styles.values}>
      {members.map(([name, value]) => (
        <div key={name} className={styles.value}>
          <dt>{revealHidden(name)}</dt>
          <dd className="text">{revealHidden(wordsOf(value, isWhole))}</dd>
        </div>
      ))}
    </dl>
  );
}

function wordsOf(value: unknown, isWhole: boolean): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 1);
  return text.length > charactersMax && !isWhole ? `${text.slice(0, charactersMax)} …` : text;
}
