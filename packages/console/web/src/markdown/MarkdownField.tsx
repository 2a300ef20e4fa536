import { type ReactNode, useId, useLayoutEffect, useRef, useState } from 'react';
import { Prose } from '../parts/Prose.tsx';
import styles from './markdown.module.css';
import { MentionChoice, useMentions } from './mention-completion.tsx';

interface MarkdownFieldProps {
  readonly label: string;
  /** Whether the label is hidden visually and only available to screen readers. */
  readonly isLabelHidden?: boolean;
  readonly value: string;
  readonly maxLength: number;
  readonly rows?: number;
  readonly placeholder?: string;
  onChange(value: string): void;
}

/** A Markdown field with a preview and completion of mentions of people and agents. It grows with its text. */
export function MarkdownField({ label, isLabelHidden = false, ...field }: MarkdownFieldProps) {
  const { value, onChange, maxLength, rows = 3, placeholder } = field;
  const id = useId();
  const [isPreview, setPreview] = useState(false);
  const area = useRef<HTMLTextAreaElement>(null);
  const mentions = useMentions(area, value, onChange, maxLength);
  useHeight(area, value);
  return (
    <div className="stack">
      <div className="row">
        <label htmlFor={id} className={isLabelHidden ? 'visually-hidden' : undefined}>
          {label}
        </label>
        <Tabs label={label} id={id} isPreview={isPreview} onChange={setPreview} />
      </div>
      <div
        className={styles.field}
        role="tabpanel"
        id={`${id}-write-panel`}
        aria-labelledby={`${id}-write`}
        hidden={isPreview}
      >
        <textarea
          ref={area}
          id={id}
          className={styles.writing}
          value={value}
          rows={rows}
          maxLength={maxLength}
          placeholder={placeholder}
          aria-describedby={`${id}-help`}
          aria-autocomplete="list"
          {...mentions.field}
          onChange={({ target }) => {
            onChange(target.value);
            mentions.look();
          }}
        />
        <MentionChoice mentions={mentions} />
      </div>
      <div
        className={styles.preview}
        role="tabpanel"
        id={`${id}-preview-panel`}
        aria-labelledby={`${id}-preview`}
        hidden={!isPreview}
      >
        {isPreview &&
          (value.trim() === '' ? <p className="soft">Nothing to preview.</p> : <Prose text={value} />)}
      </div>
      <p id={`${id}-help`} className="soft">
        Supports Markdown. Type <code className="mono">@</code> to mention and notify somebody.
      </p>
    </div>
  );
}

interface TabsProps {
  readonly label: string;
  readonly id: string;
  readonly isPreview: boolean;
  onChange(isPreview: boolean): void;
}

/** The arrow keys change the tab; the Tab key reaches only the selected one. */
function Tabs({ label, id, isPreview, onChange }: TabsProps) {
  const tabs = useRef<HTMLDivElement>(null);
  const select = (value: boolean) => {
    onChange(value);
    tabs.current
      ?.querySelector<HTMLElement>(`#${CSS.escape(`${id}-${value ? 'preview' : 'write'}`)}`)
      ?.focus();
  };
  const tab = (value: boolean, text: ReactNode) => (
    <button
      type="button"
      role="tab"
      id={`${id}-${value ? 'preview' : 'write'}`}
      aria-selected={isPreview === value}
      aria-controls={`${id}-${value ? 'preview' : 'write'}-panel`}
      tabIndex={isPreview === value ? 0 : -1}
      onClick={() => onChange(value)}
    >
      {text}
    </button>
  );
  return (
    <div
      ref={tabs}
      role="tablist"
      aria-label={`${label}: write or preview`}
      className={styles.tabs}
      onKeyDown={(event) => {
        if (!['ArrowLeft', 'ArrowRight', 'Home', 'End'].includes(event.key)) return;
        event.preventDefault();
        select(event.key === 'End' || (event.key !== 'Home' && !isPreview));
      }}
    >
      {tab(false, 'Write')}
      {tab(true, 'Preview')}
    </div>
  );
}

/** For browsers without `field-sizing: content`. */
function useHeight(area: { readonly current: HTMLTextAreaElement | null }, value: string): void {
  useLayoutEffect(() => {
    const { current } = area;
    if (current === null || CSS.supports('field-sizing', 'content')) return;
    current.style.height = 'auto';
    if (value !== '') current.style.height = `${current.scrollHeight + 2}px`;
  }, [area, value]);
}
