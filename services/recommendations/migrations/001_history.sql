create table history (
    position integer primary key, -- from 0, without gaps
    books    text[] not null check (cardinality(books) > 0)
);
