import styles from './access.module.css';

/** What somebody or a role is allowed to do, in words. */
export function Allows({ texts }: { texts: readonly string[] }) {
  if (texts.length === 0) return <p className="soft">Nothing.</p>;
  return (
    <ul className={styles.allows}>
      {texts.map((text) => (
        <li key={text}>{text}</li>
      ))}
    </ul>
  );
}
