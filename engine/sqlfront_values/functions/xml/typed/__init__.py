"""XML texts, read into values of a schema's types as Spark's StaxXmlParser reads them, and the types of XML
texts: for the functions ``from_xml`` and ``schema_of_xml``.

Reading order: ``settings`` (the options), ``markup`` (the patterns of XML's grammar), ``prolog`` (what is
before the root element), ``scanner`` (texts to
events, as Spark's XML reader gives them, errors included), ``events`` (events with a look ahead), ``atoms``
(the text of an element or attribute to a value), ``records`` (events to values of a schema), ``elements``
(events to a tree), ``inference`` (trees to types), ``variants`` (trees to variants), ``map_order`` (the order
of a map's entries) and ``texts`` (single texts).
"""
