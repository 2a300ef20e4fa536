import { type ReactNode, useEffect, useMemo, useState } from 'react';
import { type Artifact, revealHidden } from '@baton/sdk';
import { Prose } from '../parts/Prose.tsx';
import { ansiLines, hasAnsi } from './ansi.ts';
import styles from './artifact.module.css';
import type { ArtifactKind } from './artifact-kind.ts';
import { parseTable } from './csv.ts';
import { jsonLines } from './json-lines.ts';
import type { Content } from './read-content.ts';

/** How many lines or rows are shown at first, and how many more with each click on `Show more`. */
const linesStep = 500;
const rowsStep = 100;
const lineCharactersMax = 4_000;
const proseCharactersMax = 100_000;

interface ContentProps {
  readonly kind: ArtifactKind;
  readonly artifact: Artifact;
  readonly content: Content;
}

/**
 * The content of an artifact. React renders every kind as text, except that a raster image is loaded from a blob. No
 * part of an artifact becomes markup, a script or a page of the console's origin.
 */
export function ArtifactContent({ kind, artifact, content }: ContentProps): ReactNode {
  const { bytes } = content;
  const text = useMemo(
    () => (kind === 'image' ? '' : new TextDecoder().decode(bytes).replace(/\r?\n$/, '')),
    [bytes, kind],
  );
  if (kind === 'image') return <ImageContent artifact={artifact} bytes={bytes} />;
  if (text === '') return <p className="soft">The content is empty.</p>;
  if (kind === 'markdown') return <MarkdownContent text={text} />;
  if (kind === 'table') return <TableContent text={text} />;
  if (kind === 'json') return <JsonContent text={text} />;
  if (kind === 'diff') return <Lines lines={text.split('\n')} classOf={diffClassOf} />;
  if (kind === 'log' || hasAnsi(text)) return <LogContent text={text} />;
  return <Lines lines={text.split('\n')} />;
}

function MarkdownContent({ text }: { readonly text: string }) {
  return (
    <>
      <Prose text={text.slice(0, proseCharactersMax)} />
      {text.length > proseCharactersMax && (
        <p className="soft">Only the first {proseCharactersMax.toLocaleString('en')} characters are shown.</p>
      )}
    </>
  );
}

function ImageContent({
  artifact,
  bytes,
}: {
  readonly artifact: Artifact;
  readonly bytes: Content['bytes'];
}) {
  const [url, setUrl] = useState<string>();
  const [isBroken, setBroken] = useState(false);
  const type = artifact.mediaType?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([bytes], { type }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [bytes, type]);
  if (isBroken) return <p className="soft">The content is not a valid image.</p>;
  return (
    url !== undefined && (
      <img
        className={styles.image}
        src={url}
        alt={revealHidden(artifact.name)}
        onError={() => setBroken(true)}
      />
    )
  );
}

function JsonContent({ text }: { readonly text: string }) {
  const lines = useMemo(() => jsonLines(text), [text]);
  return <Lines lines={lines} />;
}

function diffClassOf(line: string): string {
  if (/^(\+\+\+|---|diff |index )/.test(line)) return styles.file ?? '';
  if (line.startsWith('@@')) return styles.hunk ?? '';
  if (line.startsWith('+')) return styles.added ?? '';
  return line.startsWith('-') ? (styles.removed ?? '') : '';
}

function Lines({
  lines,
  classOf = () => '',
}: {
  readonly lines: readonly string[];
  readonly classOf?: (line: string) => string;
}) {
  const [shown, setShown] = useState(linesStep);
  return (
    <>
      {/* Focusable, so that it can be scrolled by keyboard. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region */}
      <pre className={`mono ${styles.lines}`} tabIndex={0}>
        {lines.slice(0, shown).map((line, place) => (
          <span key={`${place}`} className={`${styles.line} ${classOf(line)}`}>
            {clipped(line)}
            {'\n'}
          </span>
        ))}
      </pre>
      <More
        shown={Math.min(shown, lines.length)}
        of={lines.length}
        noun="lines"
        onMore={() => setShown(shown + linesStep)}
      />
    </>
  );
}

const clipped = (line: string): string =>
  revealHidden(line.length > lineCharactersMax ? `${line.slice(0, lineCharactersMax)} …` : line);

function LogContent({ text }: { readonly text: string }) {
  const [shown, setShown] = useState(linesStep);
  const count = useMemo(() => text.split('\n').length, [text]);
  const lines = useMemo(() => ansiLines(text, shown), [text, shown]);
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region */}
      <pre className={`mono ${styles.lines}`} tabIndex={0}>
        {lines.map((pieces, line) => (
          <span key={`${line}`} className={styles.line}>
            {pieces.map(({ text: piece, style }, place) => (
              <span key={`${place}`} className={style.map((name) => styles[name] ?? '').join(' ')}>
                {revealHidden(piece)}
              </span>
            ))}
            {'\n'}
          </span>
        ))}
      </pre>
      <More
        shown={Math.min(shown, count)}
        of={count}
        noun="lines"
        onMore={() => setShown(shown + linesStep)}
      />
    </>
  );
}

function TableContent({ text }: { readonly text: string }) {
  const [shown, setShown] = useState(rowsStep);
  const { head, rows, isCut } = useMemo(() => parseTable(text, shown), [text, shown]);
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region */}
      <div className={styles.scrolls} tabIndex={0} role="group" aria-label="Table">
        <table className={styles.table}>
          <thead>
            <tr>
              {head.map((name, column) => (
                <th key={`${column}`} scope="col">
                  {revealHidden(name)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, place) => (
              <tr key={`${place}`}>
                {row.map((cell, column) => (
                  <td key={`${column}`}>{revealHidden(cell)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <More
        shown={rows.length}
        of={isCut ? undefined : rows.length}
        noun="rows"
        onMore={() => setShown(shown + rowsStep)}
      />
    </>
  );
}

interface MoreProps {
  readonly shown: number;
  /** The total number; undefined if it is larger than what is shown, but unknown. */
  readonly of: number | undefined;
  readonly noun: string;
  onMore(): void;
}

function More({ shown, of, noun, onMore }: MoreProps) {
  if (of !== undefined && shown >= of) return null;
  return (
    <div className="row">
      <button type="button" onClick={onMore}>
        Show more {noun}
      </button>
      <span className="soft">
        {shown.toLocaleString('en')} {of !== undefined && `of ${of.toLocaleString('en')} `}
        {noun} are shown.
      </span>
    </div>
  );
}
