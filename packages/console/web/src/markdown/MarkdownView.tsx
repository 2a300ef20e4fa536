import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Fragment, memo, type ReactNode, useMemo } from 'react';
import { meQuery, principalQuery } from '../queries.ts';
import { linkTarget } from './links.ts';
import styles from './markdown.module.css';
import type { MarkdownElement, MarkdownNode } from './node.ts';
import { OutsideLink } from './OutsideLink.tsx';
import { PlainText } from './PlainText.tsx';
import { parseMarkdown } from './parse-markdown.ts';

/** Each mentioned principal requires a request. Further mentions show the name in the text. */
const namesMax = 20;

interface MarkdownViewProps {
  readonly text: string;
  /** The URL prefix of commits; undefined if no repository is known. */
  readonly commitAddress: string | undefined;
}

/** A parsed text. React creates every element and escapes every string; the text is never used as markup. */
export default memo(function MarkdownView({ text, commitAddress }: MarkdownViewProps) {
  const nodes = useMemo(() => parseMarkdown(text), [text]);
  if (nodes === undefined)
    return (
      <>
        <PlainText text={text} />
        <p className="soft">Shown without formatting, because the text is too long or too deeply nested.</p>
      </>
    );
  return <div className={styles.markdown}>{new Drawing(commitAddress).all(nodes)}</div>;
});

class Drawing {
  readonly #named = new Set<string>();
  readonly #commitAddress: string | undefined;

  constructor(commitAddress: string | undefined) {
    this.#commitAddress = commitAddress;
  }

  all(nodes: readonly MarkdownNode[]): ReactNode {
    // The index is a stable key: the nodes of a text are never reordered.
    return nodes.map((node, index) => <Fragment key={index}>{this.#one(node)}</Fragment>);
  }

  #one(node: MarkdownNode): ReactNode {
    if (typeof node === 'string') return node;
    switch (node.type) {
      case 'break':
        return (
          <>
            <br />
            {'\n'}
          </>
        );
      case 'rule':
        return <hr />;
      case 'code':
        return <code>{node.text}</code>;
      case 'code_block':
        return (
          <figure className={styles.code}>
            {node.info !== '' && <figcaption>{node.info}</figcaption>}
            <pre>
              <code>{node.text}</code>
            </pre>
          </figure>
        );
      case 'task':
        return (
          <Link to="/tasks/$ref" params={{ ref: node.ref }} className="mono">
            {node.ref}
          </Link>
        );
      case 'commit':
        return <Commit name={node.name} commitAddress={this.#commitAddress} />;
      case 'mention':
        return this.#mention(node);
      default:
        return this.#element(node);
    }
  }

  #mention({ id, name }: { readonly id: string; readonly name: string }): ReactNode {
    if (this.#named.size >= namesMax && !this.#named.has(id)) return `@${name}`;
    this.#named.add(id);
    return <MentionChip id={id} name={name} />;
  }

  #element(element: MarkdownElement): ReactNode {
    const inside = this.all(element.children);
    switch (element.type) {
      case 'paragraph':
        return <p>{inside}</p>;
      case 'definition':
        return <p className="soft">{inside}</p>;
      case 'heading':
        return <Heading level={element.level}>{inside}</Heading>;
      case 'quote':
        return <blockquote>{inside}</blockquote>;
      case 'bullet_list':
        return <ul>{inside}</ul>;
      case 'ordered_list':
        return <ol start={element.start}>{inside}</ol>;
      case 'item':
        return <Item isDone={element.isDone}>{inside}</Item>;
      case 'table':
        return (
          <div className={styles.table}>
            <table>{inside}</table>
          </div>
        );
      case 'head':
        return <thead>{inside}</thead>;
      case 'body':
        return <tbody>{inside}</tbody>;
      case 'row':
        return <tr>{inside}</tr>;
      case 'cell': {
        const Cell = element.isHead ? 'th' : 'td';
        return <Cell className={element.align && styles[element.align]}>{inside}</Cell>;
      }
      case 'strong':
        return <strong>{inside}</strong>;
      case 'emphasis':
        return <em>{inside}</em>;
      case 'deleted':
        return <del>{inside}</del>;
      case 'link':
        return <OutsideLink {...element} text={textOf(element)} inside={inside} />;
      default:
        return inside;
    }
  }
}

/** Headings begin at the third level, because the page around the text uses the first two. */
function Heading({ level, children }: { readonly level: number; readonly children: ReactNode }) {
  const names = ['h3', 'h4', 'h5', 'h6'] as const;
  const Name = names[Math.min(level, names.length) - 1] ?? 'h6';
  return <Name>{children}</Name>;
}

function Item({ isDone, children }: { readonly isDone: boolean | undefined; readonly children: ReactNode }) {
  if (isDone === undefined) return <li>{children}</li>;
  return (
    <li className={styles.task}>
      <input type="checkbox" checked={isDone} disabled readOnly aria-label={isDone ? 'Done' : 'To do'} />
      <div>{children}</div>
    </li>
  );
}

interface CommitProps {
  readonly name: string;
  readonly commitAddress: string | undefined;
}

function Commit({ name, commitAddress = '' }: CommitProps) {
  const url = linkTarget(commitAddress + name);
  const inside = <code>{name}</code>;
  if (url === undefined) return inside;
  return <OutsideLink url={url} text={name} inside={inside} />;
}

/** The text of a link, to compare with its address. */
function textOf(node: MarkdownNode): string {
  if (typeof node === 'string') return node;
  if ('children' in node) return node.children.map(textOf).join('');
  if (node.type === 'code') return node.text;
  return node.type === 'mention' ? `@${node.name}` : '';
}

/** The current name of a principal; the name in the text if the current one can't be read. */
function MentionChip({ id, name }: { readonly id: string; readonly name: string }) {
  const { data } = useQuery(principalQuery(id));
  const isMe = useQuery(meQuery).data?.principal.id === id;
  return (
    <span
      className={`${styles.mention} ${isMe ? styles.isMe : ''}`}
      title={data === undefined ? 'This name is from the text' : data.kind}
    >
      @{data?.displayName ?? name}
    </span>
  );
}
