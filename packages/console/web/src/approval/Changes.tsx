import { useMemo } from 'react';
import { revealHidden, type SubjectChange } from '@baton/sdk';
import styles from './approval.module.css';
import { dateText, isDate, placeOf, valueText } from './subject-labels.ts';
import { compareWords, type Part } from './word-differences.ts';

interface ChangesProps {
  readonly changes: readonly SubjectChange[];
  /** For example `Changed since it was requested`. */
  readonly title: string;
  readonly before: string;
  readonly after: string;
}

/** Each changed value, the old one next to the new one. Words and signs mark the changes, not colours alone. */
export function Changes({ changes, title, before, after }: ChangesProps) {
  return (
    <section className={styles.changes} aria-label={title}>
      <p className={styles.changedTitle}>
        <span aria-hidden="true">⚠ </span>
        {title}: {changes.length === 1 ? 'one value' : `${changes.length} values`}
      </p>
      <table className={styles.table}>
        <thead>
          <tr>
            <th scope="col">What</th>
            <th scope="col">{before}</th>
            <th scope="col">{after}</th>
          </tr>
        </thead>
        <tbody>
          {changes.map((change) => (
            <Change key={JSON.stringify(change.path)} change={change} labels={[before, after]} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Change({ change, labels }: { change: SubjectChange; labels: readonly [string, string] }) {
  const { before, after } = useMemo(() => partsOf(change), [change]);
  return (
    <tr>
      <th scope="row">
        <Place path={change.path} />
      </th>
      <td data-label={labels[0]}>
        <Side parts={before} mark="del" sign="−" words="was" />
      </td>
      <td data-label={labels[1]}>
        <Side parts={after} mark="ins" sign="+" words="is" />
      </td>
    </tr>
  );
}

/** The console's label for the part of the snapshot, and the user-defined names below it. */
function Place({ path }: { readonly path: readonly string[] }) {
  const { part, names } = placeOf(path);
  return (
    <>
      {part}{' '}
      {names.length > 0 && (
        <span className={styles.name}>{names.map((name) => revealHidden(name)).join(' › ')}</span>
      )}
    </>
  );
}

interface SideProps {
  /** Undefined if the value isn't set. */
  readonly parts: readonly Part[] | undefined;
  readonly mark: 'del' | 'ins';
  readonly sign: string;
  readonly words: string;
}

function Side({ parts, mark: Mark, sign, words }: SideProps) {
  if (parts === undefined) return <span className="soft">not set</span>;
  return (
    <div className={styles.side}>
      <span aria-hidden="true" className={Mark === 'del' ? styles.minus : styles.plus}>
        {sign}{' '}
      </span>
      <span className="text">
        {parts.length === 0 && <span className="soft">empty</span>}
        {parts.map(({ text, isChanged }, index) =>
          isChanged ? (
            <Mark key={index} className={styles[Mark]}>
              <span className="visually-hidden">{words} </span>
              {changedText(text)}
            </Mark>
          ) : (
            equalText(text, index > 0, index < parts.length - 1)
          ),
        )}
      </span>
    </div>
  );
}

/** Splits both values into parts; a value that isn't set has none. */
function partsOf({ path, before, after }: SubjectChange): {
  readonly before: readonly Part[] | undefined;
  readonly after: readonly Part[] | undefined;
} {
  const [old, now] = [before, after].map((value) => formatValue(path, value));
  if (old === undefined || now === undefined) return { before: whole(old), after: whole(now) };
  if (old !== now) return compareWords(old, now);
  // The text alone doesn't distinguish 10 and "10".
  return { before: whole(JSON.stringify(before)), after: whole(JSON.stringify(after)) };
}

function whole(text: string | undefined): Part[] | undefined {
  if (text === undefined) return undefined;
  return text === '' ? [] : [{ text, isChanged: true }];
}

/** Undefined for a value that isn't set. Within user documents, null is a value. */
function formatValue(path: readonly string[], value: unknown): string | undefined {
  if (value === undefined || (value === null && path.length <= 2)) return undefined;
  return isDate(path) ? dateText(String(value)) : valueText(value);
}

/** A changed part with its invisible characters shown, including zero-width joiners and white space. */
function changedText(text: string): string {
  if (text.trim() !== '') return revealHidden(text, { all: true });
  const signs: Readonly<Record<string, string>> = { ' ': '␣', '\n': '↵\n', '\t': '⇥' };
  return Array.from(text, (blank) => signs[blank] ?? formatCodePoint(blank)).join('');
}

const formatCodePoint = (blank: string) =>
  `⟨U+${blank.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`;

/** The length to which unchanged text around a change is shortened. The full subject follows below. */
const equalCharactersMax = 240;

function equalText(text: string, hasBefore: boolean, hasAfter: boolean): string {
  const isAlone = !hasBefore && !hasAfter;
  const start = hasBefore || isAlone ? equalCharactersMax : 0;
  const end = hasAfter || isAlone ? equalCharactersMax : 0;
  if (text.length <= start + end) return revealHidden(text);
  return [text.slice(0, start), text.slice(text.length - end)].map((one) => revealHidden(one)).join(' … ');
}
