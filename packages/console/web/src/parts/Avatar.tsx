import { useQuery } from '@tanstack/react-query';
import { principalQuery } from '../queries.ts';
import styles from './avatar.module.css';

const hues = 6;

/** The initials of a person, agent or service, in a circle for people and in a square for programs. */
export function Avatar({ id }: { readonly id: string | null }) {
  const { data } = useQuery({ ...principalQuery(id ?? ''), enabled: id !== null });
  const kind = id === null ? 'service' : (data?.kind ?? 'human');
  return (
    <span
      className={`${styles.avatar} ${kind === 'human' ? styles.person : styles.program} ${styles[`hue${hueOf(id ?? '')}`]}`}
      aria-hidden="true"
    >
      {id === null ? 'B' : initialsOf(data?.displayName ?? '')}
    </span>
  );
}

/** The first letters of the first and the last word: `AL` for `Ada Lovelace`. */
function initialsOf(name: string): string {
  const words = name
    .slice(0, 200)
    .split(/[\s._-]+/)
    .map((word) => word.match(/[\p{L}\p{N}]/u)?.[0] ?? '')
    .filter((letter) => letter !== '');
  return [words[0], words.length > 1 ? words.at(-1) : undefined].filter(Boolean).join('').toUpperCase();
}

const hueOf = (id: string): number =>
  Array.from(id.slice(-12)).reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % hues;
