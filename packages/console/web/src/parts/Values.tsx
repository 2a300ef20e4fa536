import styles from './values.module.css';

const charactersMax = 4_000;

/** The members of an object, each on a line of its own; what is no text as JSON. */
export function Values({ of }: { of: Record<string, unknown> }) {
  const members = Object.entries(of).filter(
    ([, value]) => value !== null && value !== undefined && value !== '',
  );
  if (members.length === 0) return <p className="soft">Nothing.</p>;
  return (
    <dl className={styles.values}>
      {members.map(([name, value]) => (
        <div key={name} className={styles.value}>
          <dt>{name}</dt>
          <dd className="text">{wordsOf(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

function wordsOf(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 1);
  return text.length > charactersMax ? `${text.slice(0, charactersMax)} …` : text;
}
